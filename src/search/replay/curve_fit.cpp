// curve_fit.cpp - pools what violates an order; joins knots by cubics that do not overshoot.
#include "search/replay/curve_fit.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace fatune {
namespace {

/// Neighbouring samples that share one value of the curve.
struct Pool {
  double first = 0, last = 0;  ///< range of x
  double sum = 0, weight = 0;
  double mean() const { return sum / weight; }
};

/// The index of the knot at or before x, such that there is one after it.
std::size_t interval_of(const std::vector<Sample>& knots, double x) {
  const auto after = std::upper_bound(knots.begin() + 1, knots.end() - 1, x,
                                      [](double value, const Sample& k) { return value < k.x; });
  return static_cast<std::size_t>(after - knots.begin()) - 1;
}

/// Slope at an end from the two nearest intervals, bent back where it would overshoot.
double end_slope(double near_width, double far_width, double near_rise, double far_rise) {
  const double slope =
      ((2 * near_width + far_width) * near_rise - near_width * far_rise) / (near_width + far_width);
  if (slope * near_rise <= 0) return 0;
  if (near_rise * far_rise <= 0 && std::abs(slope) > 3 * std::abs(near_rise)) return 3 * near_rise;
  return slope;
}

}  // namespace

IsotonicCurve::IsotonicCurve(std::vector<Sample> samples) {
  FATUNE_CHECK(!samples.empty(), "a curve needs at least one sample");
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.x < b.x; });
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

}  // namespace fatune
