// suite_result.hpp - final records of many problems to a table of best and baselines.
#pragma once

#include <string>

#include "core/result.hpp"
#include "model/results/comparison.hpp"

namespace fatune {

/// One row a problem: its first correct candidate against the fastest correct baseline, externals
/// included and marked. What is missing on either side is absent, with the reason; the geometric
/// mean is over the rows that have a ratio.
SuiteTable suite_table(const BenchResult& result);
/// The same of a sweep over several problems, whose first finalist is its best.
BenchResult suite_of(const SweepResult& sweep, const std::string& date);
/// Writes suite.json into the run's folder when the plan has several problems.
Status save_suite(const SweepResult& sweep, const std::string& date);

}  // namespace fatune
