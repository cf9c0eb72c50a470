// bench.cpp - runs a final phase for every problem and writes its rows.
#include "tune/sweep/bench.hpp"

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/results/statistics.hpp"

namespace fatune {
namespace {

void quantile_fields(Quantiles& x, FieldList& f) {
  f.record("quantiles");
  f("p05", x.p05).finite();
  f("p25", x.p25).finite();
  f("p50", x.p50).finite();
  f("p75", x.p75).finite();
  f("p95", x.p95).finite();
}

/// As in a journal, with quantiles of the rounds.
void row_fields(FinalRecord& x, FieldList& f) {
  const auto of = [](const std::vector<double>& rounds_us) {
    return rounds_us.empty() ? std::nullopt : std::optional(quantiles(rounds_us));
  };
  fields(x, f);
  f.record("row");
  f.derived_as<&quantile_fields>("hot_quantiles_us", of(x.hot_rounds_us));
  f.derived_as<&quantile_fields>("cold_quantiles_us", of(x.cold_rounds_us));
}

void confirmed_time_fields(Timing& x, FieldList& f) {
  f("median_us", x.median_us).finite();
  f.pair("ci95_us", x.ci95_low_us, x.ci95_high_us);
}

void confirmation_fields(Confirmation& x, FieldList& f) {
  f.record("confirmation", "What a best.json says of the config, beside what was measured now");
  f("file", x.file);
  f("verdict", x.verdict).one_of("confirmed, close, faster, slower");
  f.as<&confirmed_time_fields>("then", x.then);
  f.as<&confirmed_time_fields>("now", x.now);
  f("differences", x.differences);
}

void problem_fields(BenchProblem& x, FieldList& f) {
  f("name", x.problem.name).omitted();
  f("problem", x.problem.problem);
  f("reason", x.reason).omitted();
  f.as<&row_fields>("rows", x.rows);
  f.as<&confirmation_fields>("confirmation", x.confirmation);
}

}  // namespace

void fields(BenchResult& x, FieldList& f) {
  f.document("fatune.bench", 1);
  f("fatune", x.environment.fatune);
  f("command", x.command);
  f("date", x.date);
  f("recorded", x.environment.recorded);
  f("suite", x.suite).omitted();
  f("rounds", x.rounds);
  f("seed", x.seed);
  f("environment", x.environment).required();
  f.as<&problem_fields>("problems", x.problems);
}

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

}  // namespace fatune
