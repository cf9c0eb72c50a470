// intervals.cpp - bootstrap of means, Wilson's interval of shares.
#include "search/replay/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/check.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {
namespace {

constexpr double kZ95 = 1.959964;  // the 97.5 % point of the normal distribution
constexpr std::size_t kMostResamples = 10'000, kFewestResamples = 1'000;
constexpr std::size_t kMostDraws = 5'000'000;  // chosen: a hundredth of a second

double mean(std::span<const double> samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

/// Linear interpolation between the order statistics of `sorted`.
double quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - std::floor(position)) * (sorted[above] - sorted[below]);
}

}  // namespace

Estimate mean_estimate(std::span<const double> samples, std::uint64_t seed) {
  FATUNE_CHECK(!samples.empty(), "a mean needs at least one sample");
  Rng rng(seed);
  std::vector<double> means(
      std::clamp(kMostDraws / samples.size(), kFewestResamples, kMostResamples));
  const std::uint64_t count = samples.size();
  FATUNE_CHECK(count >> 32U == 0, "an index is the upper half of a product of 32-bit numbers");
  for (double& resampled : means) {
    double sum = 0;
    for (std::size_t i = 0; i < samples.size(); ++i)
      sum += samples[(rng.next() >> 32U) * count >> 32U];
    resampled = sum / static_cast<double>(samples.size());
  }
  std::sort(means.begin(), means.end());
  return {mean(samples), quantile(means, 0.025), quantile(means, 0.975)};
}

double standard_error(std::span<const double> samples) {
  if (samples.size() < 2) return 0;
  const double middle = mean(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - middle) * (sample - middle);
  const auto count = static_cast<double>(samples.size());
  return std::sqrt(squares / (count - 1) / count);
}

Estimate share_estimate(std::uint64_t hits, std::uint64_t trials) {
  FATUNE_CHECK(trials > 0 && hits <= trials, "a share is of something");
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(hits) / n;
  const double z2 = kZ95 * kZ95;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kZ95 / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {share, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace fatune
