// shard.hpp: Deals the problems of a plan to runs that do not communicate.
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
  std::uint64_t number = 1;  ///< counted from 1
  std::uint64_t of = 1;
  std::vector<std::uint64_t> problems = {};  ///< indices into the plan's list, ascending
  std::string plan = {};  ///< plan_hash(), the same for all parts; filled by run_sweep
};
void fields(Shard& x, FieldList& f);
std::string describe(const Shard& shard);  ///< "2/4"

/// The device and host that measured a shard of a merged run.
struct MergedShard {
  std::uint64_t number = 1;
  std::string device_uuid, host;  ///< as in Environment
};
void fields(MergedShard& x, FieldList& f);

/// Time to tune a problem relative to a small problem.
double estimated_cost(const Problem& problem);
/// Returns part `number` of `of`: the costliest remaining problem goes to the part with the least
/// work; ties go by order. Every host gets equal parts. Returns a usage error for an empty part or
/// a repeated problem.
Result<Shard> deal(const std::vector<NamedProblem>& problems, std::uint64_t number,
                   std::uint64_t of);

}  // namespace fatune
