// ranking.hpp - measured candidates in order of time, with those that cannot be told apart marked.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/results/record.hpp"

namespace fatune {

struct Ranked {
  const CandidateRecord* record = nullptr;
  std::size_t place = 1;  ///< equal for candidates that tie with the first of their group
};

/// Only those measured; `objective` is "hot" or "cold". Two candidates tie when their medians are
/// less than two standard errors of their difference apart. The search phase takes few samples: its
/// ranking is a hint, the finals decide.
std::vector<Ranked> rank_candidates(std::span<const CandidateRecord> candidates,
                                    const std::string& objective);

}  // namespace fatune
