// suite_sweep.hpp - a suite's problems to the few configs that serve all of them best.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/sweep/problem_sweep.hpp"

namespace fatune {

/// The positions of a suite's problems, the most informative first: the one whose distances to the
/// others are least in sum; then each time the one farthest from those before it, because its times
/// can differ most from theirs.
std::vector<std::size_t> by_information(const std::vector<NamedProblem>& problems);

/// Gives each problem's request with everything but the configs that may compete in it.
using MakeRequest = std::function<ProblemRequest(const NamedProblem& problem)>;

/// For a plan with `configs` > 0. One config: the most informative problem is searched; its fastest
/// and the default configs then race over the other problems, and a config that fails or clearly
/// loses is dropped. Several: every problem is searched, and the fastest of each are measured on
/// all others. The few that are chosen compete on every problem in its final phase; of a single
/// config's rivals the one with the greatest geomean speed-up over the default there wins. `saved`
/// is called after each problem's final phase.
Status sweep_suite(const MakeRequest& make_request, RunState& run, SweepResult& result,
                   const std::function<Status()>& saved);

}  // namespace fatune
