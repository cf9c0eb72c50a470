// sweep.hpp - the main job: ask, evaluate, journal, tell; then the final phase and best.json.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "base/result.hpp"
#include "evaluate/evaluator.hpp"
#include "journal/journal.hpp"
#include "journal/sweep_result.hpp"
#include "record/progress.hpp"
#include "tune/best.hpp"

namespace fatune {

struct SweepOptions {
  RunPlan plan;
  std::filesystem::path out;  ///< the run's folder
  bool resume = false;
  std::size_t finalists = 8;
  FinalPlan finals;
  std::function<void(const SweepProgress&)> on_progress;
  std::function<double()> clock;  ///< seconds, never going back; empty: the steady clock
};

/// `kernels` are those named or the default ones; a problem that none of them supports is an error
/// naming the reasons. The journal is complete at every moment; best.json is written after every
/// problem. An interrupt is no error: the result says `interrupted` and the journal continues with
/// `resume`.
Result<SweepResult> run_sweep(const SweepOptions& options, const std::vector<KernelRef>& kernels,
                              const KernelRef& reference, Evaluator& evaluator);

}  // namespace fatune
