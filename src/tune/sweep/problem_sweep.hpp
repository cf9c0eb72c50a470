// problem_sweep.hpp - one problem of a sweep, or many that share configs: spaces, search, finals.
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

/// Everything but the final phase. `known`: warm starts, and the best of earlier problems. An
/// interrupt leaves `run.interrupted` set.
Result<ProblemResult> search_problem(const NamedProblem& problem, const SavedConfigs& known,
                                     RunState& run);
/// Measures the entrants that have a valid config here and no record in `result` yet, which may be
/// of an earlier search or empty.
Status race_problem(const NamedProblem& problem, const SavedConfigs& entrants, RunState& run,
                    ProblemResult& result);
/// The final phase of a problem that was searched or raced. `only`: those that may be finalists;
/// null: all. --finals repeats one in which a baseline was unavailable, and keeps the new one when
/// it has times of more baselines.
Status settle_problem(const SavedConfigs* only, RunState& run, ProblemResult& result);
/// An interrupt that comes while something is awaited is no error: what was found stays.
Status unless_interrupted(Status done, RunState& run);
/// Search and final phase. An interrupt leaves `run.interrupted` set, and what the journal of a
/// resumed run has of the problem, or no final phase. Of a run that is over nothing is measured.
Result<ProblemResult> sweep_problem(const NamedProblem& problem, const SavedConfigs& known,
                                    RunState& run);

/// The positions of a suite's problems, the most informative first: the one whose distances to the
/// others are least in sum; then each time the one farthest from those before it, because its times
/// can differ most from theirs.
std::vector<std::size_t> by_information(const std::vector<NamedProblem>& problems);

/// For a plan with `configs` > 0. One config: the most informative problem is searched; its fastest
/// and the default configs then race over the other problems, and a config that fails or clearly
/// loses is dropped. Several: every problem is searched, and the fastest of each are measured on
/// all others. The few that are chosen compete on every problem in its final phase; of a single
/// config's rivals the one with the greatest geomean speed-up over the default there wins. `saved`
/// is called after each problem's final phase.
Status sweep_suite(RunState& run, SweepResult& result, const std::function<Status()>& saved);

}  // namespace fatune
