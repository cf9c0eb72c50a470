// suite_summary.hpp - the final phases of a run of several problems, in one table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/results/fast_p.hpp"
#include "model/results/sweep_result.hpp"
#include "out/page/page_run.hpp"
#include "out/text/layout.hpp"

namespace fatune {

/// Of a sweep at its end, or of a run's folder; the run must outlive it.
struct SuiteFinals {
  explicit SuiteFinals(const SweepResult& result);
  explicit SuiteFinals(const PageRun& run);

  std::vector<const ProblemResult*> problems;  ///< those with a final phase, in the plan's order
  const RunPlan& plan;
  const Environment& environment;
};

/// Problem by problem, in text by name where it has one, the best with its time, its baseline and
/// its SOL score; then the geometric mean of the ratios, which baselines were not measured
/// everywhere, and fast_p: "text" or "md". Empty where no problem has a final phase.
std::string suite_summary(const SuiteFinals& finals, const std::string& format, const Paint& paint);
/// Of the problems with a baseline; empty unless there are two or more, and where nothing was
/// checked.
std::optional<FastP> fast_p_of(const SuiteFinals& finals);

}  // namespace fatune
