// sweep_report.hpp: Declares the text report at the end of a sweep.
#pragma once

#include <string>

#include "model/results/sweep_result.hpp"
#include "report/page/page_run.hpp"
#include "report/text/layout.hpp"

namespace fatune {

/// Writes for each problem headline, finalists with intervals, ratio to the baseline, and
/// exclusions with reasons; then the paths. Every table says so if correctness was not checked.
std::string sweep_report(const SweepResult& result, const Paint& paint = {});
/// The result of a run's folder, as the sweep that wrote it had it last.
SweepResult sweep_result_of(PageRun run);

/// Writes one problem's part of the report.
std::string problem_report(const ProblemResult& problem, const SweepResult& run,
                           const Paint& paint = {});

}  // namespace fatune
