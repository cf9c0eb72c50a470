// bench.cpp - runs a final phase for every problem, and compares a config with its saved time.
#include "tune/sweep/bench.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
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

struct Range {
  double low = 0, high = 0;
};

/// The interval of the median, or the median alone.
Range range_of(const Timing& timing) {
  return {timing.ci95_low_us.value_or(timing.median_us),
          timing.ci95_high_us.value_or(timing.median_us)};
}

std::string verdict(const Timing& then, const Timing& now) {
  const Range a = range_of(then);
  const Range b = range_of(now);
  if (a.low <= b.high && b.low <= a.high) return "confirmed";
  const double ratio = now.median_us / then.median_us;
  if (std::abs(ratio - 1) <= kRunToRun) return "close";
  return ratio < 1 ? "faster" : "slower";
}

std::string clocks(const Conditions& seen) {
  if (seen.sm_clock_mhz_min == seen.sm_clock_mhz_max)
    return fmt::format("{} MHz", seen.sm_clock_mhz_max);
  return fmt::format("{} to {} MHz", seen.sm_clock_mhz_min, seen.sm_clock_mhz_max);
}

std::string throttling(const Conditions& seen) {
  const auto reasons = throttle_names(seen.throttle_reasons);
  return reasons.empty() ? "none" : join(reasons, ", ");
}

/// Collects "X was A and is B" for what is known on both sides.
class Differences {
 public:
  void compare(std::string_view what, const std::string& then, const std::string& now) {
    if (then.empty() || now.empty() || then == now) return;
    found_.push_back(fmt::format("{} was {} and is {}", what, then, now));
  }
  void add(std::string difference) { found_.push_back(std::move(difference)); }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  std::vector<std::string> found_;
};

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

std::optional<Confirmation> confirm(const SavedBest& saved, const SavedWinner& winner,
                                    const FinalRecord& row, const Environment& here,
                                    const Kernel& kernel) {
  if (!winner.hot || !row.hot || row.outcome != Outcome::kMeasured) return std::nullopt;
  Differences differences;
  differences.compare("GPU", saved.device_name, here.device_name);
  differences.compare("architecture", saved.arch, name(here.limits.arch));
  differences.compare("driver", saved.driver, here.driver);
  differences.compare("NVRTC", saved.nvrtc, here.nvrtc);
  differences.compare("fatune", saved.fatune, here.fatune);
  if (!winner.text_hash.empty() && winner.text_hash != kernel.text_hash)
    differences.add("the text of " + kernel.manifest.name + " has changed");
  if (winner.conditions && row.conditions) {
    differences.compare("SM clock", clocks(*winner.conditions), clocks(*row.conditions));
    differences.compare("memory clock", fmt::format("{} MHz", winner.conditions->memory_clock_mhz),
                        fmt::format("{} MHz", row.conditions->memory_clock_mhz));
    differences.compare("throttling", throttling(*winner.conditions), throttling(*row.conditions));
  }
  if (saved.recorded != here.recorded)
    differences.add(here.recorded ? "this is a recording" : "the saved time is of a recording");
  return Confirmation{saved.file, *winner.hot, *row.hot, verdict(*winner.hot, *row.hot),
                      differences.take()};
}

}  // namespace fatune
