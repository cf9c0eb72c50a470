// sweep.cpp: Sweeps the problems of a run one after another on one device.
#include "tune/sweep/sweep.hpp"

#include <utility>

#include "tune/sweep/open_run.hpp"
#include "tune/sweep/problem_sweep.hpp"
#include "tune/sweep/run_state.hpp"

namespace fatune {
namespace {

/// Sweeps each problem; the best of one may start the search of the next. Shards do not use this,
/// because their neighbouring problems depend on the number of shards.
Status sweep_problems(OpenRun& run, RunState& state) {
  SweepResult& result = run.result;
  SavedConfigs known = result.plan.warm_starts;
  Saver saver(run);
  Status failure;
  for (const NamedProblem& problem : shard_problems(result.plan)) {
    auto swept = sweep_problem(problem, known, state);
    if (!swept) {
      failure = with_context(std::move(swept).error(), "sweeping " + describe(problem.problem));
      break;
    }
    run.take(*std::move(swept));
    result.seconds = state.clock.now();
    run.warn_of_absent(result.problems.back());
    FATUNE_TRY_STATUS(saver.save_in_time());
    const FinalRecord* best = result.problems.back().best();
    if (best != nullptr && !result.plan.shard) {
      known.push_back({best->kernel, best->config, problem.problem, problem.name,
                       result.environment.limits.arch, "this run"});
    }
    if (state.interrupted) break;
  }
  if (Status kept = keep_the_rest(run, known); failure && !kept) failure = kept;
  const Status saved = saver.save_the_last();
  return failure ? saved : failure;
}

}  // namespace

Result<SweepResult> run_sweep(const SweepOptions& options, const std::vector<KernelRef>& kernels,
                              const KernelRef& reference, Evaluator& evaluator) {
  FATUNE_TRY(OpenRun run,
             open_run(options, kernels, reference, evaluator.environment(), evaluator.helpers()));
  RunState state = run.state(&evaluator, RunClock(options.clock, run.journalled_s));
  const Hooked hooked = hook(state);
  FATUNE_TRY_STATUS(sweep_problems(run, state));
  run.result.interrupted = state.interrupted;
  run.result.seconds = state.clock.now();
  FATUNE_TRY_STATUS(close_run(run));
  return std::move(run.result);
}

}  // namespace fatune
