// candidates.hpp - a run's candidates in order of time, and as a table for Markdown and CSV.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/results/record.hpp"
#include "out/text/table.hpp"

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

/// Every candidate: the measured ones by place, then the others in the order they were tried, with
/// outcome and reason.
Table candidates_table(std::span<const CandidateRecord> candidates, const std::string& objective);
/// The same as CSV, with a column for each member of the problem and for each parameter, in the
/// order in which the candidates first have them.
std::string candidates_csv(std::span<const CandidateRecord> candidates,
                           const std::string& objective);

}  // namespace fatune
