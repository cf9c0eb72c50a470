// problem_sweep.hpp - one problem of a sweep: spaces, searches, final phase.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/sweep/finals.hpp"
#include "tune/sweep/run_state.hpp"
#include "tune/sweep/scoring.hpp"

namespace fatune {

struct ProblemRequest {
  const RunPlan& plan;
  const NamedProblem& problem;
  const std::vector<KernelRef>& kernels;
  KernelRef reference;  ///< null: no baseline
  std::size_t finalists = 8;
  FinalPlan finals;
  const MakeBaselines& baselines;
  const CountUse& count_use;              ///< for scores; may be empty
  const std::vector<SavedConfig>& known;  ///< warm starts, and the best of earlier problems
  const std::vector<SavedConfig>* only = nullptr;  ///< that may be finalists; null: all
};

struct KernelSpaces {
  std::vector<Space> spaces;      ///< with at least one valid config, smallest first
  std::vector<Candidate> barred;  ///< the default config of each kernel that has none
};
/// The spaces of the kernels that can do the problem; what was left out and ruled out goes into
/// `result`. No valid config at all is a usage error that says what excluded everything.
Result<KernelSpaces> build_spaces(const std::vector<KernelRef>& kernels, const DeviceLimits& limits,
                                  ProblemResult& result);

/// Everything but the final phase. An interrupt leaves `run.interrupted` set.
Result<ProblemResult> search_problem(const ProblemRequest& request, RunState& run);
/// Measures the entrants that have a valid config here and no record in `result` yet, which may be
/// of an earlier search or empty.
Status race_problem(const ProblemRequest& request, const std::vector<SavedConfig>& entrants,
                    RunState& run, ProblemResult& result);
/// The final phase of a problem that was searched or raced.
Status settle_problem(const ProblemRequest& request, RunState& run, ProblemResult& result);

/// Search and final phase. An interrupt leaves the final phase out and `run.interrupted` set.
Result<ProblemResult> sweep_problem(const ProblemRequest& request, RunState& run);

}  // namespace fatune
