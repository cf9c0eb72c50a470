// published_score.cpp - cut-off, budget, baseline and mean-rank curve of the published score.
//
// Left out: the strategy's own time counts nothing, the curve is the isotonic fit to all runs
// itself and not the mean of fits to subsets of them, and there is no error band.
#include "search/replay/published_score.hpp"

#include <algorithm>
#include <cmath>

#include "search/replay/curve_fit.hpp"

namespace fatune {
namespace {

constexpr double kCutoff = 0.95, kStartCutoff = 0.01;
constexpr std::size_t kPoints = 1000;
constexpr std::uint64_t kFewestEvaluations = 10;  // chosen: with fewer, luck decides
constexpr double kFitMargin = 0.1;  // of the range of time: what the fit sees beyond its ends
constexpr double kLeastHeadroom = 1e-12;

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

/// Evaluations after which random search is expected to have reached the cut-off value.
std::uint64_t evaluations_to(double cutoff, const Landscape& landscape,
                             const std::vector<double>& worst_first) {
  const double target =
      landscape.optimum() + (landscape.median() - landscape.optimum()) * (1 - cutoff);
  const auto reached = std::find_if(worst_first.begin(), worst_first.end(),
                                    [&](double cost) { return cost <= target; });
  const auto index = static_cast<double>(reached - worst_first.begin());
  const auto all = static_cast<double>(worst_first.size());
  return static_cast<std::uint64_t>(std::ceil(index / (all + 1 - index)));
}

}  // namespace

std::optional<PublishedMethod> PublishedMethod::of(const Recording& recording,
                                                   const Landscape& landscape) {
  PublishedMethod method;
  std::vector<double> known, of_valid, of_failed;
  for (const RecordedEntry& entry : recording.entries) {
    if (!entry.seconds) continue;
    known.push_back(*entry.seconds);
    (entry.cost ? of_valid : of_failed).push_back(*entry.seconds);
  }
  if (of_valid.empty()) return std::nullopt;
  const double usual = median(known);
  for (const RecordedEntry& entry : recording.entries) {
    method.seconds_.push_back(entry.seconds.value_or(usual));
  }
  method.worst_first_.assign(landscape.sorted().rbegin(), landscape.sorted().rend());
  const double failed_share =
      static_cast<double>(landscape.failures()) / static_cast<double>(landscape.size());
  method.seconds_each_ = mean(of_valid) + failed_share * mean(of_failed);
  method.evaluations_ = evaluations_to(kCutoff, landscape, method.worst_first_);
  const double of_one = median(of_valid);
  method.end_ = static_cast<double>(method.evaluations_) * of_one;
  method.start_ =
      static_cast<double>(evaluations_to(kStartCutoff, landscape, method.worst_first_)) * of_one;
  if (method.evaluations_ < kFewestEvaluations) return std::nullopt;
  if (!(method.start_ < method.end_) || !(method.seconds_each_ > 0)) return std::nullopt;
  return method;
}

double PublishedMethod::time_at(std::size_t point) const {
  return start_ + (end_ - start_) * static_cast<double>(point) / static_cast<double>(kPoints - 1);
}

double PublishedMethod::cost_at(double rank) const {
  const auto last = static_cast<double>(worst_first_.size() - 1);
  return worst_first_[static_cast<std::size_t>(std::clamp(std::round(rank), 0.0, last))];
}

std::vector<double> PublishedMethod::baseline() const {
  const auto all = static_cast<double>(worst_first_.size());
  std::vector<Sample> knots;
  for (std::size_t point = 0; point < kPoints; ++point) {
    const double evaluations = std::max(1.0, std::round(time_at(point) / seconds_each_));
    if (!knots.empty() && knots.back().x == evaluations) continue;
    knots.push_back({evaluations, cost_at(evaluations * (all + 1) / (evaluations + 1))});
  }
  if (knots.size() == 1) return std::vector<double>(kPoints, knots.front().y);
  const double first = knots.front().x, last = knots.back().x;
  const MonotoneCubic smooth(std::move(knots));
  std::vector<double> curve;
  for (std::size_t point = 0; point < kPoints; ++point) {
    const double share = static_cast<double>(point) / static_cast<double>(kPoints - 1);
    curve.push_back(smooth.at(first + (last - first) * share));
  }
  return curve;
}

double PublishedMethod::score(const std::vector<Trace>& traces, const Recording& recording) const {
  std::vector<Sample> samples;
  std::vector<double> ends;
  for (const Trace& trace : traces) {
    double time = 0, best = worst_first_.front();
    bool any = false;
    for (const std::uint32_t index : trace) {
      time += seconds_[index];
      const auto& cost = recording.entries[index].cost;
      if (cost) best = any ? std::min(best, *cost) : *cost;
      any = any || cost.has_value();
      if (!any || time < start_ * (1 - kFitMargin) || time > end_ * (1 + kFitMargin)) continue;
      const auto at = std::lower_bound(worst_first_.rbegin(), worst_first_.rend(), best);
      const auto rank =
          worst_first_.size() - 1 - static_cast<std::size_t>(at - worst_first_.rbegin());
      samples.push_back({time, static_cast<double>(rank)});
    }
    ends.push_back(time);
  }
  if (samples.empty()) samples.push_back({start_, 0});
  const IsotonicCurve ranks(std::move(samples));
  const double stop = median(ends);  // later, fewer than half of the runs say anything
  const std::vector<double> random = baseline();
  double sum = 0;
  for (std::size_t point = 0; point < kPoints; ++point) {
    const double optimum = worst_first_.back();
    const double headroom = random[point] - optimum;
    const double found = cost_at(ranks.at(std::min(time_at(point), stop)));
    sum += headroom > kLeastHeadroom * std::abs(optimum) ? (random[point] - found) / headroom : 0;
  }
  return sum / kPoints;
}

}  // namespace fatune
