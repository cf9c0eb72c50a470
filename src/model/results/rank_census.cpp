// rank_census.cpp: Formats the counts of ranks and hosts.
#include "model/results/rank_census.hpp"

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {

void fields(RankCensus& x, FieldList& f) {
  f.record("ranks", "Processes of one sweep on several hosts");
  f("gpu", x.gpu).required().about("Ranks that measured");
  f("hosts", x.hosts).required();
}

std::string describe(const RankCensus& census) {
  return counted(census.gpu, "rank") + " with a GPU, " + counted(census.hosts, "host");
}

}  // namespace fatune
