// page_json.cpp - one object a run: what it set out to do, where, and its problems.
#include "out/page/page_json.hpp"

#include <nlohmann/json.hpp>

#include "out/page/problem_json.hpp"
#include "out/page/rounded.hpp"

namespace fatune {
namespace {

constexpr const char* kSchema = "fatune.page/1";

bool is_recorded(const PageRun& run) {
  if (run.header.environment.recorded) return true;
  for (const PageProblem& problem : run.problems) {
    for (const FinalRecord& record : problem.result.finals) {
      if (record.recorded) return true;
    }
  }
  return false;
}

Json environment_json(const Environment& environment) {
  return {{"device", environment.device_name},
          {"arch", name(environment.limits.arch)},
          {"driver", environment.driver},
          {"cuda", environment.cuda_driver},
          {"nvrtc", environment.nvrtc},
          {"fatune", environment.fatune},
          {"host", environment.host},
          {"cpu_cores", environment.cpu_cores},
          {"multiprocessors", environment.limits.sm_count},
          {"memory_bytes", environment.limits.memory_bytes},
          {"l2_bytes", environment.l2_bytes},
          {"max_sm_clock_mhz", environment.max_sm_clock_mhz},
          {"memory_clock_mhz", environment.memory_clock_mhz}};
}

Json run_json(const PageRun& run, Depth depth) {
  const RunPlan& plan = run.header.plan;
  Json problems = Json::array();
  for (const PageProblem& problem : run.problems)
    problems.push_back(problem_json(problem, run.header, depth));
  Json budget = {{"evaluations", plan.budget_evaluations}};
  if (plan.budget_seconds) budget["seconds"] = *plan.budget_seconds;
  return {{"name", run.name},
          {"source", run.source},
          {"command", plan.command},
          {"recorded", is_recorded(run)},
          {"correctness_skipped", plan.skip_correctness},
          {"status", run.status},
          {"seconds", rounded(run.seconds)},
          {"strategy", plan.strategy},
          {"objective", plan.objective},
          {"seed", plan.seed},
          {"budget", budget},
          {"environment", environment_json(run.header.environment)},
          {"problems", std::move(problems)}};
}

}  // namespace

Json page_json(std::span<const PageRun> runs, Depth depth) {
  Json entries = Json::array();
  for (const PageRun& run : runs) entries.push_back(run_json(run, depth));
  return {{"schema", kSchema}, {"runs", std::move(entries)}};
}

Json live_json(const SweepProgress& progress) {
  Json live = {{"problem", progress.problem},
               {"problem_number", progress.problem_number},
               {"problems", progress.problems},
               {"phase", progress.phase},
               {"activity", progress.activity},
               {"done", progress.done},
               {"all", progress.all},
               {"elapsed_s", rounded(progress.elapsed_s)},
               {"left_s", nullptr}};
  if (progress.left_s) live["left_s"] = rounded(*progress.left_s);
  return live;
}

}  // namespace fatune
