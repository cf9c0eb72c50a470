// statistics_test.cpp: Checks known values, and how often a bootstrap interval covers the true
// value.
#include "model/results/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace fatune;
using Catch::Approx;

namespace {

/// Normal enough for a coverage test, and the same on every platform: the sum of twelve uniforms.
std::vector<double> noisy_rounds(std::mt19937_64& engine, double centre, double sigma) {
  std::vector<double> rounds(40);
  for (double& value : rounds) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(engine() >> 11) * 0x1p-53;
    value = centre + sigma * sum;
  }
  return rounds;
}

}  // namespace

TEST_CASE("quantiles interpolate between neighbours") {
  const std::vector<double> sorted = {1, 2, 3, 4};
  CHECK(quantile(sorted, 0) == 1);
  CHECK(quantile(sorted, 0.5) == 2.5);
  CHECK(quantile(sorted, 0.25) == 1.75);
  CHECK(quantile(sorted, 1) == 4);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(median({7}) == 7);
}

TEST_CASE("the standard error comes from the quartiles and ignores an outlier") {
  std::vector<double> samples = {99, 100, 101, 99, 100, 101, 99, 100, 101};
  const double error = relative_standard_error(samples);
  CHECK(error == Approx(1.2533 * 2 / 1.349 / 3 / 100));
  samples.push_back(5000);
  CHECK(relative_standard_error(samples) < 2 * error);
  CHECK(std::isinf(relative_standard_error(std::vector<double>{1, 2})));
}

TEST_CASE("a summary holds median, quartiles, least and count") {
  const Timing timing = summarize(std::vector<double>{5, 1, 3, 2, 4}, 20);
  CHECK(timing.median_us == 3);
  CHECK(timing.q1_us == 2);
  CHECK(timing.q3_us == 4);
  CHECK(timing.min_us == 1);
  CHECK(timing.samples == 5);
  CHECK(timing.launches_per_sample == 20);
  CHECK_FALSE(timing.ci95_low_us.has_value());
  CHECK(summarize(std::vector<double>{5}, 1).sem_relative == 1.0);
}

TEST_CASE("bootstrap intervals cover the truth about as often as they promise") {
  std::mt19937_64 engine(7);
  int covered_median = 0, covered_ratio = 0;
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto a = noisy_rounds(engine, 10, 0.1);
    const auto b = noisy_rounds(engine, 20, 0.4);
    const Interval m = bootstrap_median(a, 500, 1);
    const Interval r = bootstrap_ratio(a, b, 500, 1);
    covered_median += m.low <= 10 && 10 <= m.high;
    covered_ratio += r.low <= 0.5 && 0.5 <= r.high;
  }
  CHECK(covered_median >= kTrials * 90 / 100);
  CHECK(covered_ratio >= kTrials * 90 / 100);
  CHECK(covered_median < kTrials);
}

TEST_CASE("a bootstrap's medians are those of what it drew, also where samples are alike") {
  for (const std::size_t size : {7U, 8U}) {
    std::mt19937_64 engine(3);
    std::vector<double> samples(size);
    for (double& sample : samples) sample = 5 + 0.25 * static_cast<double>(engine() % 4);
    std::mt19937_64 draws(11);
    std::vector<double> medians(200);
    for (double& middle : medians) {
      std::vector<double> drawn(size);
      for (double& value : drawn) value = samples[draws() % size];
      middle = median(drawn);
    }
    std::ranges::sort(medians);
    const Interval interval = bootstrap_median(samples, 200, 11);
    CHECK(interval.low == quantile(medians, 0.025));
    CHECK(interval.high == quantile(medians, 0.975));
  }
}

TEST_CASE("a bootstrap repeats itself for a seed, and pairs its rounds") {
  std::mt19937_64 engine(3);
  const auto a = noisy_rounds(engine, 10, 0.1);
  const Interval first = bootstrap_median(a, 1000, 42);
  const Interval again = bootstrap_median(a, 1000, 42);
  CHECK(first.low == again.low);
  CHECK(first.high == again.high);
  std::vector<double> twice = a;
  for (double& value : twice) value *= 2;
  const Interval ratio = bootstrap_ratio(a, twice, 1000, 42);
  CHECK(ratio.low == Approx(0.5));
  CHECK(ratio.high == Approx(0.5));
}

TEST_CASE("samples of two runs are drawn each for itself") {
  std::mt19937_64 engine(11);
  int covered = 0;
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto a = noisy_rounds(engine, 10, 0.1);
    auto b = noisy_rounds(engine, 20, 0.4);
    b.resize(25);
    const Interval r = bootstrap_ratio_unpaired(a, b, 500, 1);
    covered += r.low <= 0.5 && 0.5 <= r.high;
  }
  CHECK(covered >= kTrials * 90 / 100);
  // Common drift cancels in pairs only.
  std::vector<double> drifting(40), twice(40);
  for (std::size_t i = 0; i < drifting.size(); ++i) {
    drifting[i] = 10 + 0.1 * static_cast<double>(i);
    twice[i] = 2 * drifting[i];
  }
  const Interval paired = bootstrap_ratio(drifting, twice, 1000, 42);
  const Interval unpaired = bootstrap_ratio_unpaired(drifting, twice, 1000, 42);
  CHECK(paired.high - paired.low < 1e-12);
  CHECK(unpaired.high - unpaired.low > 0.05);
  CHECK(unpaired.low < 0.5);
  CHECK(unpaired.high > 0.5);
  const Interval again = bootstrap_ratio_unpaired(drifting, twice, 1000, 42);
  CHECK(again.low == unpaired.low);
}

TEST_CASE("quantiles of unsorted samples") {
  std::vector<double> samples;
  for (int i = 100; i >= 0; --i) samples.push_back(i);
  const Quantiles q = quantiles(samples);
  CHECK(q.p05 == Approx(5));
  CHECK(q.p25 == Approx(25));
  CHECK(q.p50 == Approx(50));
  CHECK(q.p75 == Approx(75));
  CHECK(q.p95 == Approx(95));
}

TEST_CASE("samples that are no times, or too few, are refused with their row") {
  const std::vector<double> good(10, 5.0);
  CHECK(check_samples(good, "cudnn"));
  const auto message = [](std::vector<double> samples) {
    const Status status = check_samples(samples, "torch:flash (hot)");
    REQUIRE_FALSE(status);
    return status.error().message;
  };
  CHECK(message(std::vector<double>(9, 5.0)) ==
        "torch:flash (hot): has 9 samples; an interval needs at least 10");
  std::vector<double> bad = good;
  bad[3] = std::nan("");
  CHECK(message(bad) == "torch:flash (hot): sample 4 of 10 is nan, which is no time");
  bad[3] = 0;
  CHECK(message(bad) == "torch:flash (hot): sample 4 of 10 is 0, which is no time");
  bad[3] = -1;
  CHECK(message(bad).find("is -1") != std::string::npos);
  bad[3] = INFINITY;
  CHECK(message(bad).find("is inf") != std::string::npos);
}

TEST_CASE("verdicts need the whole interval on one side") {
  CHECK(compare_interval({0.90, 0.99}, kSameSpeed) == Verdict::kFaster);
  CHECK(compare_interval({1.01, 1.20}, kSameSpeed) == Verdict::kSlower);
  CHECK(compare_interval({0.99, 1.01}, kSameSpeed) == Verdict::kTie);
  CHECK(compare_interval({0.95, 1.00}, kSameSpeed) == Verdict::kTie);
  // Two copies of one kernel, measured: an interval without 1, and yet no difference to speak of.
  CHECK(compare_interval({1.00063, 1.00164}, kSameSpeed) == Verdict::kTie);
  CHECK(compare_interval({0.9, 0.996}, kSameSpeed) == Verdict::kTie);
  CHECK(compare_interval({1.00063, 1.00164}, 0) == Verdict::kSlower);
  CHECK(name(Verdict::kFaster) == "faster");
  CHECK(name(Verdict::kTie) == "tie");
  CHECK(name(Verdict::kSlower) == "slower");
  CHECK(verdict_word(0.5) == "Excellent");
  CHECK(verdict_word(0.8) == "Good");
  CHECK(verdict_word(0.95) == "Modest");
  CHECK(verdict_word(1.05) == "Parity");
  CHECK(verdict_word(1.06) == "Regression");
}
