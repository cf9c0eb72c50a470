// problem_sweep.hpp: Sweeps one problem: builds its spaces, searches them, runs its final phase.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/sweep/finals.hpp"
#include "tune/sweep/run_state.hpp"

namespace fatune {

struct KernelSpaces {
  std::vector<Space> spaces;      ///< with at least one valid config, smallest first
  std::vector<Candidate> barred;  ///< the default config of each kernel that has none
};
/// The spaces of the kernels that can do the problem; what was left out and ruled out goes into
/// `result`. No valid config at all is a usage error that says what excluded everything.
Result<KernelSpaces> build_spaces(const std::vector<KernelRef>& kernels, const DeviceLimits& limits,
                                  ProblemResult& result);

using SavedConfigs = std::vector<SavedConfig>;

/// Runs the final phase of a problem that was searched. --finals repeats one in which a baseline
/// was unavailable, and keeps the new one when it has times of more baselines.
Status settle_problem(RunState& run, ProblemResult& result);
/// An interrupt that comes while something is awaited is no error: what was found stays.
Status unless_interrupted(Status done, RunState& run);
/// Search and final phase. An interrupt leaves `run.interrupted` set, and what the journal of a
/// resumed run has of the problem, or no final phase. Of a run that is over nothing is measured.
Result<ProblemResult> sweep_problem(const NamedProblem& problem, const SavedConfigs& known,
                                    RunState& run);

}  // namespace fatune
