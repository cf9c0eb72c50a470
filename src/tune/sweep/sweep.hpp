// sweep.hpp - the main job: ask, evaluate, journal, tell; then the final phase and best.json.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "core/result.hpp"
#include "model/results/journal.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {

struct SweepOptions {
  RunPlan plan;
  std::filesystem::path out;  ///< the run's folder
  bool resume = false;
  bool finals_only = false;  ///< of a resumed run: what its journal holds is all that is searched
  std::size_t finalists = 8;
  FinalPlan finals;
  MakeBaselines baselines;
  std::vector<SavedConfig> known;     ///< of other runs; a resumed run keeps its journal's choice
  CountUse count_use;                 ///< for scores; may be empty
  bool reference_is_baseline = true;  ///< the reference kernel takes part as "naive"
  std::string date;                   ///< of today, for suite.json
  std::function<void(const SweepProgress&)> on_progress;
  std::function<bool()> cancelled =
      nullptr;                    ///< asked often; true ends the sweep like an interrupt
  std::function<double()> clock;  ///< seconds, never going back; empty: the steady clock
};

/// `kernels` are those named or the default ones; a problem that none of them supports is an error
/// naming the reasons. The journal is complete at every moment; best.json is written after every
/// problem, and suite.json if there are several. An interrupt is no error: the result says
/// `interrupted` and the journal continues with `resume`.
Result<SweepResult> run_sweep(const SweepOptions& options, const std::vector<KernelRef>& kernels,
                              const KernelRef& reference, Evaluator& evaluator);

}  // namespace fatune
