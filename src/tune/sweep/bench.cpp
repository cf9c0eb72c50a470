// bench.cpp - runs a final phase for every problem, and compares a config with its saved time.
#include "tune/sweep/bench.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/text.hpp"

namespace fatune {
namespace {

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
  const std::string found = here.recorded ? "recorded" : verdict(*winner.hot, *row.hot);
  return Confirmation{saved.file, *winner.hot, *row.hot, found, differences.take()};
}

}  // namespace fatune
