// published_score.cpp: Computes cut-off, budget, baseline and curve of the published score.
//
// Differences: the strategy's own time is ignored, one isotonic curve is fitted to all runs
// instead of the mean of fits to subsets, and there is no error band.
#include <algorithm>
#include <cmath>

#include "core/result.hpp"
#include "model/results/statistics.hpp"
#include "search/replay/score.hpp"

namespace fatune {
namespace {

/// Neighbouring samples with a common value of the curve.
struct Pool {
  double first = 0, last = 0;  ///< range of x
  double sum = 0, weight = 0;
  double mean() const { return sum / weight; }
};

/// Returns the knot at or before x that has a successor.
std::size_t interval_of(const std::vector<Sample>& knots, double x) {
  const auto after =
      std::ranges::upper_bound(knots.begin() + 1, knots.end() - 1, x, {}, &Sample::x);
  return static_cast<std::size_t>(after - knots.begin()) - 1;
}

/// Returns the slope at an end from the two nearest intervals, limited against overshoot.
double end_slope(double near_width, double far_width, double near_rise, double far_rise) {
  const double slope =
      ((2 * near_width + far_width) * near_rise - near_width * far_rise) / (near_width + far_width);
  if (slope * near_rise <= 0) return 0;
  if (near_rise * far_rise <= 0 && std::abs(slope) > 3 * std::abs(near_rise)) return 3 * near_rise;
  return slope;
}

constexpr double kCutoff = 0.95, kStartCutoff = 0.01;
constexpr std::size_t kPoints = 1000;
constexpr std::uint64_t kFewestEvaluations = 10;  // chosen: fewer evaluations are decided by luck
constexpr double kFitMargin = 0.1;  // share of the time range by which the fit extends it
constexpr double kLeastDivisor = 1e-12;

/// Returns the evaluations that random search is expected to need for the cut-off value.
std::uint64_t evaluations_to(double cutoff, const Landscape& landscape,
                             const std::vector<double>& worst_first) {
  const double target =
      landscape.optimum() + (landscape.median() - landscape.optimum()) * (1 - cutoff);
  const auto reached =
      std::ranges::find_if(worst_first, [&](double cost) { return cost <= target; });
  const auto index = static_cast<double>(reached - worst_first.begin());
  const auto all = static_cast<double>(worst_first.size());
  return static_cast<std::uint64_t>(std::ceil(index / (all + 1 - index)));
}

}  // namespace

IsotonicCurve::IsotonicCurve(std::vector<Sample> samples) {
  FATUNE_CHECK(!samples.empty(), "a curve needs at least one sample");
  std::ranges::sort(samples, {}, &Sample::x);
  std::vector<Pool> pools;
  for (const Sample& sample : samples) {
    if (!pools.empty() && pools.back().last == sample.x) {
      pools.back().sum += sample.y;
      pools.back().weight += 1;
    } else {
      pools.push_back({sample.x, sample.x, sample.y, 1});
    }
  }
  std::vector<Pool> merged;
  for (Pool pool : pools) {
    while (!merged.empty() && merged.back().mean() >= pool.mean()) {
      pool.first = merged.back().first;
      pool.sum += merged.back().sum;
      pool.weight += merged.back().weight;
      merged.pop_back();
    }
    merged.push_back(pool);
  }
  for (const Pool& pool : merged) {
    knots_.push_back({pool.first, pool.mean()});
    if (pool.last > pool.first) knots_.push_back({pool.last, pool.mean()});
  }
}

double IsotonicCurve::at(double x) const {
  if (x <= knots_.front().x) return knots_.front().y;
  if (x >= knots_.back().x) return knots_.back().y;
  const Sample& left = knots_[interval_of(knots_, x)];
  const Sample& right = knots_[interval_of(knots_, x) + 1];
  return left.y + (right.y - left.y) * (x - left.x) / (right.x - left.x);
}

MonotoneCubic::MonotoneCubic(std::vector<Sample> knots) : knots_(std::move(knots)) {
  FATUNE_CHECK(knots_.size() >= 2, "a piece of a curve has two ends");
  const std::size_t pieces = knots_.size() - 1;
  std::vector<double> width(pieces), rise(pieces);
  for (std::size_t i = 0; i < pieces; ++i) {
    width[i] = knots_[i + 1].x - knots_[i].x;
    FATUNE_CHECK(width[i] > 0, "knots ascend");
    rise[i] = (knots_[i + 1].y - knots_[i].y) / width[i];
  }
  slopes_.assign(knots_.size(), rise[0]);
  if (pieces == 1) return;
  for (std::size_t i = 1; i < pieces; ++i) {
    const double before = 2 * width[i] + width[i - 1], after = width[i] + 2 * width[i - 1];
    const bool turns = rise[i - 1] * rise[i] <= 0;
    slopes_[i] = turns ? 0 : (before + after) / (before / rise[i - 1] + after / rise[i]);
  }
  slopes_.front() = end_slope(width[0], width[1], rise[0], rise[1]);
  slopes_.back() =
      end_slope(width[pieces - 1], width[pieces - 2], rise[pieces - 1], rise[pieces - 2]);
}

double MonotoneCubic::at(double x) const {
  if (x <= knots_.front().x) return knots_.front().y;
  if (x >= knots_.back().x) return knots_.back().y;
  const std::size_t i = interval_of(knots_, x);
  const double width = knots_[i + 1].x - knots_[i].x;
  const double t = (x - knots_[i].x) / width;
  const double u = 1 - t;
  return knots_[i].y * u * u * (1 + 2 * t) + knots_[i + 1].y * t * t * (3 - 2 * t) +
         width * t * u * (slopes_[i] * u - slopes_[i + 1] * t);
}

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
  const double stop = median(ends);  // later, less than half of the runs have data
  const std::vector<double> random = baseline();
  double sum = 0;
  for (std::size_t point = 0; point < kPoints; ++point) {
    const double optimum = worst_first_.back();
    const double headroom = random[point] - optimum;
    const double found = cost_at(ranks.at(std::min(time_at(point), stop)));
    sum += headroom > kLeastDivisor * std::abs(optimum) ? (random[point] - found) / headroom : 0;
  }
  return sum / kPoints;
}

}  // namespace fatune
