// score.cpp - compares best-so-far curves with what random search is expected to find.
#include "search/replay/score.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.hpp"
#include "model/results/statistics.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {
namespace {

constexpr double kZ95 = 1.959964;  // the 97.5 % point of the normal distribution
constexpr std::size_t kMostResamples = 10'000, kFewestResamples = 1'000;
constexpr std::size_t kMostDraws = 5'000'000;  // chosen: a hundredth of a second

constexpr std::uint64_t kResampleSeed = 1;  // of the resamples
constexpr double kLeastHeadroom = 1e-12;    // of the optimum: below it random search is there, too

using Curves = std::vector<std::vector<double>>;  ///< [repeat][evaluations]

std::vector<double> column(const Curves& curves, std::uint64_t t) {
  std::vector<double> values;
  values.reserve(curves.size());
  for (const auto& curve : curves) values.push_back(curve[t]);
  return values;
}

Estimate excess_estimate(const std::vector<double>& costs, const Landscape& landscape) {
  std::vector<double> excess;
  excess.reserve(costs.size());
  for (const double cost : costs) excess.push_back(landscape.excess(cost));
  const double middle = mean(excess);
  const double half = kZ95 * standard_error(excess);
  return {middle, std::max(0.0, middle - half), middle + half};
}

Estimate share_within(double share, const std::vector<double>& costs, const Landscape& landscape) {
  std::uint64_t hits = 0;
  for (const double cost : costs) hits += landscape.excess(cost) <= share ? 1 : 0;
  return share_estimate(hits, costs.size());
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

std::uint64_t near_at(const Landscape& landscape) {
  return std::max(kNearLeast, (landscape.size() + kNearShare - 1) / kNearShare);
}

Yardstick make_yardstick(const Landscape& landscape, std::uint64_t budget) {
  Yardstick yardstick;
  yardstick.expected = landscape.expected_best(budget);
  yardstick.first = kFirstScored;
  const double least = kLeastHeadroom * std::max(std::abs(landscape.optimum()), 1e-300);
  std::uint64_t last = std::min(budget, landscape.size() - 1);
  while (last >= yardstick.first && yardstick.expected[last] - landscape.optimum() <= least) --last;
  yardstick.last = last;
  return yardstick;
}

std::vector<double> best_so_far(const Trace& trace, const Recording& recording,
                                const Landscape& landscape, std::uint64_t budget) {
  std::vector<double> curve(budget + 1, landscape.worst());
  for (std::uint64_t t = 1; t <= budget; ++t) {
    curve[t] = curve[t - 1];
    if (t > trace.size()) continue;
    const auto& cost = recording.entries[trace[t - 1]].cost;
    if (cost) curve[t] = std::min(curve[t], *cost);
  }
  return curve;
}

std::vector<double> scores_of(const std::vector<Trace>& traces, const Recording& recording,
                              const Landscape& landscape, const Yardstick& yardstick) {
  FATUNE_CHECK(yardstick.scores(), "P needs something to be better than");
  std::vector<double> scores;
  for (const Trace& trace : traces) {
    const auto curve = best_so_far(trace, recording, landscape, yardstick.last);
    double sum = 0;
    for (std::uint64_t t = yardstick.first; t <= yardstick.last; ++t) {
      const double expected = yardstick.expected[t];
      sum += (expected - curve[t]) / (expected - landscape.optimum());
    }
    scores.push_back(sum / static_cast<double>(yardstick.last - yardstick.first + 1));
  }
  return scores;
}

Score score_runs(const std::vector<Trace>& traces, const Recording& recording,
                 const Landscape& landscape, const Yardstick& yardstick, std::uint64_t budget) {
  FATUNE_CHECK(!traces.empty(), "a score is of runs");
  Score score;
  score.repeats = traces.size();
  Curves curves;
  for (const Trace& trace : traces) {
    curves.push_back(best_so_far(trace, recording, landscape, budget));
  }
  if (yardstick.scores()) {
    score.p = mean_estimate(scores_of(traces, recording, landscape, yardstick), kResampleSeed);
  }
  for (std::size_t i = 0; i < kFractionsAt.size(); ++i) {
    if (kFractionsAt[i] > budget) continue;
    std::vector<double> fractions = column(curves, kFractionsAt[i]);
    for (double& value : fractions) value = landscape.fraction_of_optimum(value);
    score.at[i] = mean_estimate(fractions, kResampleSeed);
  }
  for (std::size_t i = 0; i < kWithinAt.size(); ++i) {
    if (kWithinAt[i] > budget) continue;
    score.within[i] = share_within(kWithin, column(curves, kWithinAt[i]), landscape);
  }
  if (near_at(landscape) <= budget) {
    score.near = share_within(kNear, column(curves, near_at(landscape)), landscape);
  }
  score.near_at_end = share_within(kNear, column(curves, budget), landscape);
  for (std::uint64_t t = 1; t <= budget; ++t) {
    score.excess.push_back(excess_estimate(column(curves, t), landscape));
  }
  return score;
}

}  // namespace fatune
