// comparison.cpp: Lists the fields of fatune.bench, fatune.gate and fatune.suite.
#include "model/results/comparison.hpp"

#include <algorithm>

#include "core/fields.hpp"
#include "model/results/statistics.hpp"

namespace fatune {
namespace {

constexpr const char* kComparisons = "faster, tie, slower";

void quantile_fields(Quantiles& x, FieldList& f) {
  f.record("quantiles");
  f("p05", x.p05).finite();
  f("p25", x.p25).finite();
  f("p50", x.p50).finite();
  f("p75", x.p75).finite();
  f("p95", x.p95).finite();
}

void bench_row_fields(FinalRecord& x, FieldList& f) {
  const auto of = [](const std::vector<double>& rounds_us) {
    return rounds_us.empty() ? std::nullopt : std::optional(quantiles(rounds_us));
  };
  f.record("row", "A contestant, measured");
  document::final_fields(x, f);
  rounds_fields(x, f);
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
  f("verdict", x.verdict).one_of("confirmed, close, faster, slower, recorded");
  f.as<&confirmed_time_fields>("then", x.then);
  f.as<&confirmed_time_fields>("now", x.now);
  f("differences", x.differences);
}

void bench_problem_fields(BenchProblem& x, FieldList& f) {
  document::problem_fields(x.problem.name, x.problem.problem, f);
  f("reason", x.reason).omitted();
  f.as<&bench_row_fields>("rows", x.rows);
  f.as<&confirmation_fields>("confirmation", x.confirmation);
}

/// A gate's document stores the number of rounds; a bench's document stores the rounds.
void gate_side_fields(FinalRecord& x, FieldList& f) {
  f.record("side", "A contestant, measured");
  document::final_fields(x, f);
  f.derived("rounds", std::max(x.hot_rounds_us.size(), x.cold_rounds_us.size())).at_least(0);
}

void ratio_fields(const std::optional<Ratio>& ratio, FieldList& f) {
  std::optional<double> value;
  std::optional<std::array<double, 2>> interval;
  if (ratio) {
    value = ratio->value;
    interval = {ratio->low, ratio->high};
  }
  f.derived("ratio", value).finite().positive();
  f.derived("ci95", interval).finite();
}

void gate_row_fields(GateRow& x, FieldList& f) {
  f.as<&gate_side_fields>("baseline", x.baseline);
  f("saved_in", x.source).omitted();
  f("saved_recorded", x.baseline.recorded)
      .omitted()
      .absent_if(x.source.empty())
      .about("What was saved is of a recording");
  ratio_fields(x.ratio, f);
  f("paired", x.paired).absent_if(!x.ratio);
  f("comparison", x.comparison).omitted().one_of(kComparisons);
  f("verdict", x.verdict).omitted();
  f("reason", x.reason).omitted();
  f("pass", x.passed);
}

void gate_problem_fields(GateProblem& x, FieldList& f) {
  document::problem_fields(x.problem.name, x.problem.problem, f);
  f.as<&gate_side_fields>("candidate", x.candidate).absent_if(!x.reason.empty());
  f("time", x.time).about("That is compared");
  f("reason", x.reason).omitted();
  f.as<&gate_row_fields>("baselines", x.rows);
  f("pass", x.passed);
}

void suite_side_fields(FinalRecord& x, FieldList& f) {
  f.record("side", "A contestant, measured");
  document::contestant_fields(x, f);
  outcome_fields(x, f);
}

}  // namespace

/// Before the first release a file had `environment` in place of `device`.
static bool is_spelled_as_before(const Json& file) { return file.contains("environment"); }

void fields(BenchResult& x, FieldList& f) {
  f.document("fatune.bench", {2, &is_spelled_as_before});
  document::head_fields(x.environment.fatune, x.command, x.environment.recorded, f);
  f("date", x.date);
  f("suite", x.suite).omitted();
  f("rounds", x.rounds);
  f("seed", x.seed);
  f.as<&device_fields>("device", x.environment).required();
  host_fields(x.environment, f);
  f.as<&bench_problem_fields>("problems", x.problems);
}

void fields(GateMean& x, FieldList& f) {
  f("baseline", x.baseline);
  f("ratio", x.ratio).finite().positive();
  f("problems", x.problems);
}

void fields(GateResult& x, FieldList& f) {
  f.document("fatune.gate");
  document::head_fields(x.environment.fatune, x.command, x.environment.recorded, f);
  f.as<&device_fields>("device", x.environment);
  f("objective", x.objective);
  f("threshold", x.threshold).finite().positive();
  f("rounds", x.rounds);
  f("seed", x.seed);
  f.as<&gate_problem_fields>("problems", x.problems);
  f("means", x.means).about("Geometric means over the problems");
  f("pass", x.passed);
}

void fields(SuiteProblem& x, FieldList& f) {
  document::problem_fields(x.problem.name, x.problem.problem, f);
  f("gpu", x.gpu).omitted().about("UUID, where several measured the table");
  f.as<&suite_side_fields>("best", x.best).or_null();
  f.as<&suite_side_fields>("baselines", x.baselines);
  f("best_baseline", x.best_baseline).omitted();
  f("time", x.time).about("That the ratio is of");
  f("ratio", x.ratio).finite().positive().about("Of the best's time over the best baseline's");
  f("ci95", x.ci95).finite();
  f("comparison", x.comparison).omitted().one_of(kComparisons);
  f("verdict", x.verdict).omitted();
  f("sol", x.sol);
  f("reason", x.reason).omitted();
}

void fields(SuiteTable& x, FieldList& f) {
  f.document("fatune.suite");
  document::head_fields(x.head, f);
  f("suite", x.suite).omitted();
  f("date", x.date);
  f.derived("correctness", std::string(x.skip_correctness ? "skipped" : ""))
      .omitted()
      .one_of("skipped");
  f.as<&device_fields>("device", x.environment);
  f("problems", x.problems);
  f("geomean_ratio", x.geomean_ratio).or_null().finite().positive();
}

}  // namespace fatune
