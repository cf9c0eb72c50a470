// score.cpp - compares best-so-far curves with what random search is expected to find.
#include "search/replay/score.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace fatune {
namespace {

constexpr std::uint64_t kSeed = 1;        // of the resamples
constexpr double kZ95 = 1.959964;         // of the curves' bands
constexpr double kLeastHeadroom = 1e-12;  // of the optimum: below it random search is there, too

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
  double sum = 0;
  for (const double cost : costs) {
    excess.push_back(landscape.excess(cost));
    sum += excess.back();
  }
  const double mean = sum / static_cast<double>(excess.size());
  const double half = kZ95 * standard_error(excess);
  return {mean, std::max(0.0, mean - half), mean + half};
}

Estimate share_within(double share, const std::vector<double>& costs, const Landscape& landscape) {
  std::uint64_t hits = 0;
  for (const double cost : costs) hits += landscape.excess(cost) <= share ? 1 : 0;
  return share_estimate(hits, costs.size());
}

}  // namespace

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
    score.p = mean_estimate(scores_of(traces, recording, landscape, yardstick), kSeed);
  }
  for (std::size_t i = 0; i < kFractionsAt.size(); ++i) {
    if (kFractionsAt[i] > budget) continue;
    std::vector<double> fractions = column(curves, kFractionsAt[i]);
    for (double& value : fractions) value = landscape.fraction_of_optimum(value);
    score.at[i] = mean_estimate(fractions, kSeed);
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
