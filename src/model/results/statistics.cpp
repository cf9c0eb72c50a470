// statistics.cpp: Computes medians, quartiles, standard errors and bootstrap intervals.
#include "model/results/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <fmt/format.h>

namespace fatune {
namespace {

// Chosen: a difference beyond two standard errors is chance one time in twenty.
constexpr double kToldApart = 2;
// Chosen: largest relative error of a time, also of a single turn, whose error is unknown.
constexpr double kMostError = 0.03;
constexpr double kIqrPerSigma = 1.349;  // of a normal distribution
// sqrt(pi / 2): standard error of the median over the standard error of the mean.
constexpr double kMedianEfficiency = 1.2533;

std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

/// Median of a scratch vector; reorders the vector.
double median_in_place(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

/// Draws rounds of samples and counts them by rank. The median of a resample then needs one walk
/// over the counts and no sorting.
class Resample {
 public:
  explicit Resample(std::span<const double> samples)
      : sorted_(samples.size()), ranks_(samples.size()), counts_(samples.size()) {
    std::vector<std::size_t> order(samples.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::size_t i) { return samples[i]; });
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      sorted_[rank] = samples[order[rank]];
      ranks_[order[rank]] = rank;
    }
  }

  void take(std::size_t round) { ++counts_[ranks_[round]]; }

  /// Median of the drawn samples, as many as there are samples; clears the counts.
  double take_median() {
    const std::size_t middle = sorted_.size() / 2;
    std::size_t rank = 0, below = 0, before = 0;  // rank of the value before the middle one
    for (;; ++rank) {
      if (below < middle) before = rank;
      below += counts_[rank];
      if (below > middle) break;
    }
    std::ranges::fill(counts_, 0);
    return sorted_.size() % 2 == 1 ? sorted_[rank] : 0.5 * (sorted_[rank] + sorted_[before]);
  }

 private:
  std::vector<double> sorted_;
  std::vector<std::size_t> ranks_;
  std::vector<std::uint32_t> counts_;
};

/// Central 95 % of `resamples` values of `draw`.
Interval bootstrap(int resamples, const auto& draw) {
  FATUNE_CHECK(resamples > 0, "a bootstrap needs resamples");
  std::vector<double> draws(static_cast<std::size_t>(resamples));
  std::generate(draws.begin(), draws.end(), draw);
  std::sort(draws.begin(), draws.end());
  return {quantile(draws, 0.025), quantile(draws, 0.975)};
}

/// Draws a round of a resample. The modulo gives every platform one sequence.
std::size_t pick(std::mt19937_64& engine, std::size_t rounds) { return engine() % rounds; }

}  // namespace

double quantile(std::span<const double> sorted, double q) {
  FATUNE_CHECK(!sorted.empty(), "a quantile needs at least one sample");
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

double mean(std::span<const double> samples) {
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

double median(std::vector<double> samples) {
  FATUNE_CHECK(!samples.empty(), "a median needs at least one sample");
  return median_in_place(samples);
}

std::optional<double> geomean(std::span<const double> ratios) {
  if (ratios.empty()) return std::nullopt;
  double log_sum = 0;
  for (const double ratio : ratios) log_sum += std::log(ratio);
  return std::exp(log_sum / static_cast<double>(ratios.size()));
}

double standard_error_of_difference(double a, double b) { return std::sqrt(a * a + b * b); }

bool told_apart(const Timing& slower, const Timing& faster) {
  const double error = standard_error_of_difference(std::min(slower.sem_relative, kMostError),
                                                    std::min(faster.sem_relative, kMostError));
  return slower.median_us > faster.median_us * (1 + kToldApart * error);
}

double relative_standard_error(std::span<const double> samples) {
  if (samples.size() < 3) return std::numeric_limits<double>::infinity();
  const std::vector<double> sorted = sorted_copy(samples);
  const double middle = quantile(sorted, 0.5);
  if (!(middle > 0)) return std::numeric_limits<double>::infinity();
  const double sigma = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / kIqrPerSigma;
  return kMedianEfficiency * sigma / std::sqrt(static_cast<double>(sorted.size())) / middle;
}

Quantiles quantiles(std::span<const double> samples) {
  FATUNE_CHECK(!samples.empty(), "quantiles need at least one sample");
  const std::vector<double> sorted = sorted_copy(samples);
  return {quantile(sorted, 0.05), quantile(sorted, 0.25), quantile(sorted, 0.5),
          quantile(sorted, 0.75), quantile(sorted, 0.95)};
}

Status check_samples(std::span<const double> samples_us, const std::string& row) {
  for (std::size_t i = 0; i < samples_us.size(); ++i) {
    if (std::isfinite(samples_us[i]) && samples_us[i] > 0) continue;
    return device_error(fmt::format("{}: sample {} of {} is {}, which is no time", row, i + 1,
                                    samples_us.size(), samples_us[i]));
  }
  if (samples_us.size() >= kLeastSamples) return {};
  return device_error(fmt::format("{}: has {} samples; an interval needs at least {}", row,
                                  samples_us.size(), kLeastSamples));
}

Timing summarize(std::span<const double> samples_us, std::int64_t launches_per_sample) {
  FATUNE_CHECK(!samples_us.empty(), "a timing needs at least one sample");
  const Quantiles spread = quantiles(samples_us);
  Timing timing;
  timing.median_us = spread.p50;
  timing.q1_us = spread.p25;
  timing.q3_us = spread.p75;
  timing.min_us = std::ranges::min(samples_us);
  const double error = relative_standard_error(samples_us);
  timing.sem_relative = std::isfinite(error) ? error : 1.0;
  timing.samples = static_cast<std::int64_t>(samples_us.size());
  timing.launches_per_sample = launches_per_sample;
  return timing;
}

Interval bootstrap_median(std::span<const double> rounds, int resamples, std::uint64_t seed) {
  FATUNE_CHECK(!rounds.empty(), "a bootstrap needs rounds");
  std::mt19937_64 engine(seed);
  Resample drawn(rounds);
  return bootstrap(resamples, [&] {
    for (std::size_t i = 0; i < rounds.size(); ++i) drawn.take(pick(engine, rounds.size()));
    return drawn.take_median();
  });
}

Interval bootstrap_ratio(std::span<const double> a, std::span<const double> b, int resamples,
                         std::uint64_t seed) {
  FATUNE_CHECK(!a.empty() && a.size() == b.size(), "paired rounds: as many of one as of the other");
  std::mt19937_64 engine(seed);
  Resample drawn_a(a), drawn_b(b);
  return bootstrap(resamples, [&] {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::size_t round = pick(engine, a.size());
      drawn_a.take(round);
      drawn_b.take(round);
    }
    return drawn_a.take_median() / drawn_b.take_median();
  });
}

Interval bootstrap_ratio_unpaired(std::span<const double> a, std::span<const double> b,
                                  int resamples, std::uint64_t seed) {
  FATUNE_CHECK(!a.empty() && !b.empty(), "a ratio needs samples of both");
  std::mt19937_64 engine_a(seed), engine_b(seed + 1);
  Resample drawn_a(a), drawn_b(b);
  return bootstrap(resamples, [&] {
    for (std::size_t i = 0; i < a.size(); ++i) drawn_a.take(pick(engine_a, a.size()));
    for (std::size_t i = 0; i < b.size(); ++i) drawn_b.take(pick(engine_b, b.size()));
    return drawn_a.take_median() / drawn_b.take_median();
  });
}

Verdict compare_interval(const Interval& ratio, double same) {
  if (ratio.high < 1 / (1 + same)) return Verdict::kFaster;
  if (ratio.low > 1 + same) return Verdict::kSlower;
  return Verdict::kTie;
}

std::string_view name(Verdict verdict) {
  constexpr std::array kNames = {"faster", "slower", "tie"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

std::string_view verdict_word(double ratio) {
  if (ratio <= 0.50) return "Excellent";
  if (ratio <= 0.80) return "Good";
  if (ratio <= 0.95) return "Modest";
  if (ratio <= 1.05) return "Parity";
  return "Regression";
}

}  // namespace fatune
