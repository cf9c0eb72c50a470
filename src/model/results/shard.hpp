// shard.hpp - the problems of a plan dealt to runs that know nothing of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/problem/suite.hpp"

namespace fatune {

/// A part of a plan's problems; each problem is in exactly one of the `of` parts.
struct Shard {
  std::uint64_t number = 1;  ///< from 1
  std::uint64_t of = 1;
  std::vector<std::uint64_t> problems = {};  ///< places in the plan's list, ascending
  std::string plan = {};  ///< plan_hash(), the same for all parts; filled by run_sweep
};
void fields(Shard& x, FieldList& f);
std::string describe(const Shard& shard);  ///< "2/4"

/// Where a shard of a merged run was measured.
struct MergedShard {
  std::uint64_t number = 1;
  std::string device_uuid, host;  ///< as in Environment
};
void fields(MergedShard& x, FieldList& f);

/// How long tuning a problem takes, over how long it takes for a small one.
double estimated_cost(const Problem& problem);
/// Part `number` of `of`: the problem that costs most goes to the part with least to do, again and
/// again; ties go by order. The same on every host. A usage error when a part would be empty, or a
/// problem is in the list twice.
Result<Shard> deal(const std::vector<NamedProblem>& problems, std::uint64_t number,
                   std::uint64_t of);

}  // namespace fatune
