// problem_sweep.hpp - one problem of a sweep: spaces, searches, final phase.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "journal/sweep_result.hpp"
#include "tune/finals.hpp"
#include "tune/run_state.hpp"
#include "tune/scoring.hpp"

namespace fatune {

struct ProblemRequest {
  const RunPlan& plan;
  const NamedProblem& problem;
  const std::vector<KernelRef>& kernels;
  KernelRef reference;  ///< null: no baseline
  std::size_t finalists = 8;
  FinalPlan finals;
  const MakeBaselines& baselines;
  const CountUse& count_use;  ///< for scores; may be empty
  const std::map<std::string, std::vector<Json>>&
      known_good;  ///< by kernel: configs that were best for earlier problems
};

struct KernelSpaces {
  std::vector<Space> spaces;      ///< with at least one valid config, smallest first
  std::vector<Candidate> barred;  ///< the default config of each kernel that has none
};
/// The spaces of the kernels that can do the problem; what was left out and ruled out goes into
/// `result`. No valid config at all is a usage error that says what excluded everything.
Result<KernelSpaces> build_spaces(const std::vector<KernelRef>& kernels, const DeviceLimits& limits,
                                  ProblemResult& result);

/// An interrupt leaves the final phase out and `run.interrupted` set.
Result<ProblemResult> sweep_problem(const ProblemRequest& request, RunState& run);

}  // namespace fatune
