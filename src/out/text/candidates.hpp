// candidates.hpp - a run's candidates as a table, for CSV and Markdown.
#pragma once

#include <span>
#include <string>

#include "model/results/record.hpp"
#include "out/text/table.hpp"

namespace fatune {

/// Every candidate: the measured ones by place, then the others in the order they were tried, with
/// outcome and reason.
Table candidates_table(std::span<const CandidateRecord> candidates, const std::string& objective);

}  // namespace fatune
