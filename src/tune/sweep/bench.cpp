// bench.cpp - runs a final phase for every problem and writes its rows.
#include "tune/sweep/bench.hpp"

#include <nlohmann/json.hpp>

#include "model/results/statistics.hpp"

namespace fatune {
namespace {

Json quantiles_json(const std::vector<double>& rounds_us) {
  const Quantiles q = quantiles(rounds_us);
  return {{"p05", q.p05}, {"p25", q.p25}, {"p50", q.p50}, {"p75", q.p75}, {"p95", q.p95}};
}

Json row_json(const FinalRecord& row) {
  Json json = to_json(Record(row));
  if (!row.hot_rounds_us.empty()) json["hot_quantiles_us"] = quantiles_json(row.hot_rounds_us);
  if (!row.cold_rounds_us.empty()) json["cold_quantiles_us"] = quantiles_json(row.cold_rounds_us);
  return json;
}

Json time_json(const Timing& timing) {
  Json json = {{"median_us", timing.median_us}};
  if (timing.ci95_low_us && timing.ci95_high_us)
    json["ci95_us"] = {*timing.ci95_low_us, *timing.ci95_high_us};
  return json;
}

Json confirmation_json(const Confirmation& confirmation) {
  return {{"file", confirmation.file},
          {"verdict", confirmation.verdict},
          {"then", time_json(confirmation.then)},
          {"now", time_json(confirmation.now)},
          {"differences", confirmation.differences}};
}

Json problem_json(const BenchProblem& problem) {
  Json json = Json::object();
  if (!problem.problem.name.empty()) json["name"] = problem.problem.name;
  json["problem"] = to_json(problem.problem.problem);
  if (!problem.reason.empty()) json["reason"] = problem.reason;
  json["rows"] = Json::array();
  for (const FinalRecord& row : problem.rows) json["rows"].push_back(row_json(row));
  if (problem.confirmation) json["confirmation"] = confirmation_json(*problem.confirmation);
  return json;
}

}  // namespace

Status run_bench(const std::vector<BenchQuestion>& questions, const FinalPlan& plan,
                 Evaluator& evaluator, BenchResult& result,
                 const std::function<Status()>& after_each) {
  result.environment = evaluator.environment();
  result.rounds = plan.rounds;
  result.seed = plan.seed;
  for (const BenchQuestion& question : questions) {
    BenchProblem measured;
    measured.problem = question.problem;
    const Status begun = evaluator.begin_problem(question.problem.problem, {});
    if (begun) {
      FATUNE_TRY(measured.rows, evaluator.finals(question.contestants, plan));
    } else if (questions.size() > 1 && begun.error().kind == ErrorKind::kUsage) {
      measured.reason = begun.error().message;
    } else {
      return begun;
    }
    result.problems.push_back(std::move(measured));
    FATUNE_TRY_STATUS(after_each());
  }
  return {};
}

Json bench_json(const BenchResult& result) {
  Json json = {{"schema", "fatune.bench/1"},
               {"fatune", result.environment.fatune},
               {"command", result.command},
               {"date", result.date},
               {"recorded", result.environment.recorded}};
  if (!result.suite.empty()) json["suite"] = result.suite;
  json["rounds"] = result.rounds;
  json["seed"] = result.seed;
  json["environment"] = to_json(result.environment);
  json["problems"] = Json::array();
  for (const BenchProblem& problem : result.problems)
    json["problems"].push_back(problem_json(problem));
  return json;
}

}  // namespace fatune
