// surrogate.cpp: Fits the Gaussian process to observed costs and ranks candidates.
#include "search/strategies/surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/result.hpp"
#include "model/results/statistics.hpp"

namespace fatune {
namespace {

constexpr double kCapQuantile = 0.75;  // cap of costs, among the successes; chosen
// Smallest gain that counts, in standard deviations; chosen, 0 to 0.25 were equally good.
constexpr double kLeastGain = 0.1;
// New costs before a refit: a sixth of all, at most 16; chosen, 8 was equally good.
constexpr std::size_t kLearnShare = 6, kLearnEvery = 16;
// Chosen to keep a choice within milliseconds: the best points, then a sample of the others.
constexpr std::size_t kMostSeen = 280, kBestSeen = 180;
constexpr std::size_t kMostLearntFrom = 120, kBestLearntFrom = 60;

void standardise(std::vector<double>& values) {
  const double count = static_cast<double>(values.size());
  const double middle = mean(values);
  double squares = 0;
  for (double& value : values) {
    value -= middle;
    squares += value * value;
  }
  if (!(squares > 0)) return;
  const double spread = std::sqrt(squares / count);
  for (double& value : values) value /= spread;
}

/// Returns the places of the `count` largest values, largest first; among equals the first wins.
std::vector<std::size_t> places_of_largest(const std::vector<double>& values, std::size_t count) {
  std::vector<std::size_t> places(values.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto wanted = static_cast<std::ptrdiff_t>(std::min(count, places.size()));
  const auto end = places.begin() + wanted;
  std::partial_sort(places.begin(), end, places.end(), [&](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  });
  places.erase(end, places.end());
  return places;
}

}  // namespace

void Surrogate::tell(const Point& point, std::optional<double> cost) {
  const bool failed = !cost || !std::isfinite(*cost);
  seen_.push_back(told_.size());
  seen_points_.push_back(point);
  told_.push_back(point);
  costs_.push_back(failed ? std::numeric_limits<double>::infinity() : *cost);
  if (failed) return;
  least_ = std::min(least_, *cost);
  most_ = std::max(most_, *cost);
}

std::vector<double> Surrogate::values() const {
  std::vector<double> values, successes;
  for (const std::size_t place : seen_) {
    values.push_back(least_ > 0 ? std::log(costs_[place]) : costs_[place]);
    if (std::isfinite(values.back())) successes.push_back(values.back());
  }
  const auto last = static_cast<double>(successes.size() - 1);
  const auto cap = successes.begin() + std::lround(kCapQuantile * last);
  std::nth_element(successes.begin(), cap, successes.end());
  for (double& value : values) value = std::min(value, *cap);
  standardise(values);
  return values;
}

std::vector<std::size_t> Surrogate::best_and_sample(std::vector<std::size_t> places,
                                                    std::size_t best, std::size_t count,
                                                    Rng& rng) const {
  if (places.size() <= count) return places;
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return costs_[a] < costs_[b]; });
  for (std::size_t i = best; i < count; ++i) {
    std::swap(places[i], places[i + rng.below(places.size() - i)]);
  }
  places.resize(count);
  std::sort(places.begin(), places.end());
  return places;
}

void Surrogate::learn(Rng& rng) {
  std::vector<std::size_t> all(told_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto see = [&](std::vector<std::size_t> places) {
    seen_ = std::move(places);
    seen_points_.clear();
    for (const std::size_t place : seen_) seen_points_.push_back(told_[place]);
  };
  see(best_and_sample(all, kBestLearntFrom, kMostLearntFrom, rng));
  process_.learn(seen_points_, values());
  see(best_and_sample(std::move(all), kBestSeen, kMostSeen, rng));
  told_when_learnt_ = told_.size();
}

bool Surrogate::refresh(Rng& rng) {
  FATUNE_CHECK(ready(), "a model needs costs that differ");
  const std::size_t news = told_.size() - told_when_learnt_;
  if (news < std::clamp(told_.size() / kLearnShare, std::size_t{1}, kLearnEvery)) return false;
  learn(rng);
  return true;
}

std::vector<std::size_t> Surrogate::most_promising(std::span<const Point> candidates,
                                                   std::span<const Point> pending,
                                                   std::size_t count) {
  FATUNE_CHECK(ready() && !candidates.empty(), "a model needs costs and something to choose from");
  const std::vector<double> known = values();
  std::vector<Point> points = seen_points_;
  points.insert(points.end(), pending.begin(), pending.end());
  process_.observe(points, known);
  const double best = *std::min_element(known.begin(), known.end());
  std::vector<double> gains;
  for (const Prediction& prediction : process_.predict(candidates)) {
    const double gain = log_expected_improvement(prediction, best - kLeastGain);
    gains.push_back(std::isnan(gain) ? -std::numeric_limits<double>::infinity() : gain);
  }
  return places_of_largest(gains, count);
}

}  // namespace fatune
