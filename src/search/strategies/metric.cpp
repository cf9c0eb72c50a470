// metric.cpp - weights to tables of squared distances, one for each axis.
#include "search/strategies/metric.hpp"

#include <cmath>

#include "core/check.hpp"

namespace fatune {
namespace {

// Chosen: numbers at the ends of an axis are farther apart than two words, neighbours much nearer.
constexpr double kUsualSlope = 4, kUsualStep = 0.4, kUsualWordStep = 1;

std::size_t steps_between(std::uint16_t a, std::uint16_t b) {
  return static_cast<std::size_t>(a < b ? b - a : a - b);
}

}  // namespace

Metric::Metric(const Lattice& space) {
  for (std::size_t i = 0; i < space.axes().size(); ++i) {
    if (space.axes()[i].size > 1) levers_.push_back({.axis = i, .size = space.axes()[i].size});
  }
  const double share = 1.0 / static_cast<double>(levers_.size());
  for (Lever& lever : levers_) {
    const bool sloped = space.axes()[lever.axis].ordinal && lever.size > 2;
    if (sloped) {
      lever.slope = usual_.size();
      usual_.push_back(std::log(kUsualSlope * share));
    }
    lever.step = usual_.size();
    usual_.push_back(std::log((sloped ? kUsualStep : kUsualWordStep) * share));
  }
  set_weights(usual_);
}

void Metric::set_weights(const std::vector<double>& weights) {
  FATUNE_CHECK(weights.size() == usual_.size(), "a metric keeps its number of weights");
  weights_ = weights;
  tables_.resize(levers_.size());
  for (std::size_t i = 0; i < levers_.size(); ++i) {
    const Lever& lever = levers_[i];
    const double step = std::exp(weights_[lever.step]);
    const double slope = lever.slope == Lever::kNone ? 0 : std::exp(weights_[lever.slope]);
    tables_[i].assign(lever.size, 0);
    for (std::size_t steps = 1; steps < lever.size; ++steps) {
      tables_[i][steps] = static_cast<float>(step + slope * lever.squared_share(steps));
    }
  }
}

void Metric::squared_distances(const Point& point, std::span<const Point> others,
                               std::span<float> distances) const {
  for (std::size_t i = 0; i < others.size(); ++i) {
    float sum = 0;
    for (std::size_t j = 0; j < levers_.size(); ++j) {
      const std::size_t axis = levers_[j].axis;
      sum += tables_[j][steps_between(point[axis], others[i][axis])];
    }
    distances[i] = sum;
  }
}

}  // namespace fatune
