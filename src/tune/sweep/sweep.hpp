// sweep.hpp: Sweeps the problems of a plan: search, journal, final phase and best.json.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "core/result.hpp"
#include "model/results/journal.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {

struct SweepOptions {
  RunPlan plan;
  std::filesystem::path out;  ///< folder of the run
  bool resume = false;
  bool finals_only = false;  ///< resumes a run without further search
  std::size_t finalists = 8;
  FinalPlan finals;
  MakeBaselines baselines;
  std::vector<SavedConfig> known;     ///< of other runs; a resumed run uses its journal's choice
  CountUse count_use;                 ///< for scores; may be empty
  bool reference_is_baseline = true;  ///< whether the reference kernel takes part as "naive"
  std::string date;                   ///< today, for suite.json
  std::function<void(const SweepProgress&)> on_progress;
  std::function<bool()> cancelled =
      nullptr;                    ///< polled often; true ends the sweep like an interrupt
  std::function<double()> clock;  ///< monotonic seconds; empty: the steady clock
};

/// Sweeps a plan with `kernels`, named or default. A problem that no kernel supports is an error
/// with the reasons. The journal is complete at any time. best.json is written after every problem,
/// and suite.json if there are several. An interrupt sets `interrupted` in the result; `resume`
/// continues the journal.
Result<SweepResult> run_sweep(const SweepOptions& options, const std::vector<KernelRef>& kernels,
                              const KernelRef& reference, Evaluator& evaluator);

}  // namespace fatune
