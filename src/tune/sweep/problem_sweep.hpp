// problem_sweep.hpp: Sweeps one problem: builds its spaces, searches them, runs its final phase.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/sweep/finals.hpp"
#include "tune/sweep/run_state.hpp"

namespace fatune {

struct KernelSpaces {
  std::vector<Space> spaces;      ///< with at least one valid config, smallest first
  std::vector<Candidate> barred;  ///< default configs of kernels without a valid config
};
/// Builds the spaces of the kernels that support the problem. Exclusions are noted in `result`. No
/// valid config at all is an impossible_error() with the reasons.
Result<KernelSpaces> build_spaces(const std::vector<KernelRef>& kernels, const DeviceLimits& limits,
                                  ProblemResult& result);

using SavedConfigs = std::vector<SavedConfig>;

/// Runs the final phase of a searched problem. finals_only repeats a phase in which a baseline was
/// unavailable, and keeps the new one if it has times of more baselines.
Status settle_problem(RunState& run, ProblemResult& result);
/// Turns an interrupt while waiting into success, so that results are kept.
Status unless_interrupted(Status done, RunState& run);
/// Searches a problem and runs its final phase. An interrupt sets `run.interrupted`; the result
/// then has journalled records only, or no final phase. A run that is over measures nothing. One of
/// several problems that cannot be swept is left out with a warning (why_not_tried()).
Result<ProblemResult> sweep_problem(const NamedProblem& problem, const SavedConfigs& known,
                                    RunState& run);

}  // namespace fatune
