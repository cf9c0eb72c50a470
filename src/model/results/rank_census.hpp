// rank_census.hpp: Counts the processes of a sweep on several hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/fields_fwd.hpp"

namespace fatune {

struct RankCensus {
  std::uint64_t gpu = 0;    ///< ranks that measured
  std::uint64_t hosts = 0;  ///< hosts of these ranks
};
void fields(RankCensus& x, FieldList& f);
/// Returns "4 ranks with a GPU, 2 hosts".
std::string describe(const RankCensus& census);

}  // namespace fatune
