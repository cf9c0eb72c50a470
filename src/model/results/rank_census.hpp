// rank_census.hpp - the processes of one sweep on several hosts, counted by what they did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/fields_fwd.hpp"

namespace fatune {

struct RankCensus {
  std::uint64_t gpu = 0;    ///< ranks that measured
  std::uint64_t hosts = 0;  ///< of these ranks
};
void fields(RankCensus& x, FieldList& f);
/// "4 ranks with a GPU, 2 hosts"
std::string describe(const RankCensus& census);

}  // namespace fatune
