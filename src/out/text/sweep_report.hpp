// sweep_report.hpp - a sweep's result as the text that a person reads at its end.
#pragma once

#include <string>

#include "model/results/sweep_result.hpp"
#include "out/text/layout.hpp"

namespace fatune {

/// For each problem: headline, finalists with intervals, ratio to the baseline, what was ruled out
/// and why; then the paths. Every table says so when correctness was not checked.
std::string sweep_report(const SweepResult& result, const Paint& paint = {});

/// One problem's part of it.
std::string problem_report(const ProblemResult& problem, const SweepResult& run,
                           const Paint& paint = {});

}  // namespace fatune
