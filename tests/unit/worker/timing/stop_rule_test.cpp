// stop_rule_test.cpp: Checks the stop rule on given numbers.
#include <catch2/catch_test_macros.hpp>

#include "worker/timing/sampler.hpp"

using namespace fatune;

namespace {

/// Samples until the rule is finished, from a repeating pattern.
StopRule feed(StopRule rule, const std::vector<double>& pattern, double spent_us = 200) {
  for (std::size_t i = 0; !rule.finished() && i < 1000; ++i) {
    rule.add(Micros(pattern[i % pattern.size()]), Micros(spent_us));
  }
  return rule;
}

}  // namespace

TEST_CASE("steady samples stop at the minimum") {
  const StopRule rule = feed(StopRule(StopLimits{}, std::nullopt), {10.00, 10.01});
  CHECK(rule.reason() == StopReason::kPrecise);
  CHECK(rule.samples_us().size() == 20);
}

TEST_CASE("noisy samples go on until the error is small, or to the limit") {
  const StopRule some = feed(StopRule(StopLimits{}, std::nullopt), {10.0, 10.4, 9.8, 10.2, 9.6});
  CHECK(some.reason() == StopReason::kPrecise);
  CHECK(some.samples_us().size() > 20);
  const StopRule many = feed(StopRule(StopLimits{}, std::nullopt), {10, 12, 8, 11, 9});
  CHECK(many.reason() == StopReason::kSamples);
  CHECK(many.samples_us().size() == 100);
}

TEST_CASE("the device time ends a slow series, but not before three samples") {
  const StopRule slow =
      feed(StopRule(StopLimits{}, std::nullopt), {10000, 12000, 8000, 11000}, 10'000);
  CHECK(slow.reason() == StopReason::kBudget);
  CHECK(slow.samples_us().size() == 6);
  const StopRule slower = feed(StopRule(StopLimits{}, std::nullopt), {90'000}, 90'000);
  CHECK(slower.reason() == StopReason::kBudget);
  CHECK(slower.samples_us().size() == 3);
}

TEST_CASE("a candidate twice as slow as the best is given up after three samples") {
  const StopRule killed = feed(StopRule(StopLimits{}, Micros(4.9)), {10, 10.1});
  CHECK(killed.reason() == StopReason::kSlow);
  CHECK(killed.samples_us().size() == 3);
  CHECK(feed(StopRule(StopLimits{}, Micros(5.1)), {10, 10.1}).reason() == StopReason::kPrecise);
  StopRule hiccup(StopLimits{}, Micros(6));
  hiccup.add(Micros(100), Micros(2000));
  CHECK(feed(hiccup, {10, 10.1}).reason() == StopReason::kPrecise);
}
