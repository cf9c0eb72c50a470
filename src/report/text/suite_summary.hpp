// suite_summary.hpp: Summarises the final phases of a run of several problems in one table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/results/fast_p.hpp"
#include "model/results/sweep_result.hpp"
#include "report/page/page_run.hpp"
#include "report/text/layout.hpp"

namespace fatune {

/// The final phases of a finished sweep or of a run's folder; the run must outlive the object.
struct SuiteFinals {
  explicit SuiteFinals(const SweepResult& result);
  explicit SuiteFinals(const PageRun& run);

  std::vector<const ProblemResult*> problems;  ///< problems with a final phase, in the plan's order
  const RunPlan& plan;
  const Environment& environment;
};

/// Lists per problem the best, its time, its baseline and its SOL score. Adds the geomean of the
/// ratios, the baselines that are missing somewhere, and fast_p. `format` is "text" or "md". Empty
/// if no problem has finals.
std::string suite_summary(const SuiteFinals& finals, const std::string& format, const Paint& paint);
/// Computes fast_p; empty for fewer than two problems with a baseline, or without checks.
std::optional<FastP> fast_p_of(const SuiteFinals& finals);

}  // namespace fatune
