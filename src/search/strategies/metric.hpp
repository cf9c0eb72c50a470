// metric.hpp - how far points are apart to a model, axis by axis, with weights that can be learnt.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "model/space/lattice.hpp"

namespace fatune {

/// An axis of more than one value, and where its weights are among a metric's.
struct Lever {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t axis = 0;
  std::size_t size = 0;       ///< values of the axis
  std::size_t slope = kNone;  ///< only of numbers with more than two values
  std::size_t step = 0;

  /// The square of a difference of `steps` positions over the axis's length.
  double squared_share(std::size_t steps) const {
    const double share = static_cast<double>(steps) / static_cast<double>(size - 1);
    return share * share;
  }
};

/// A squared distance: the sum, over the axes in which two points differ, of step + slope * x^2
/// with x their difference in positions over the axis's length. Weights near zero make an axis
/// inert, large ones make it decide. Weights are given as logarithms.
class Metric {
 public:
  /// With the usual weights, under which two random points are about 1 apart.
  explicit Metric(const Lattice& space) {
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

  const std::vector<Lever>& levers() const { return levers_; }
  const std::vector<double>& usual_weights() const { return usual_; }
  const std::vector<double>& weights() const { return weights_; }
  void set_weights(const std::vector<double>& weights) {
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

  /// Of `point` from each of `others`, into `distances`, which is as long.
  void squared_distances(const Point& point, std::span<const Point> others,
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

 private:
  // Chosen: numbers at the ends of an axis are farther apart than two words, neighbours much
  // nearer.
  static constexpr double kUsualSlope = 4, kUsualStep = 0.4, kUsualWordStep = 1;

  static std::size_t steps_between(std::uint16_t a, std::uint16_t b) {
    return static_cast<std::size_t>(a < b ? b - a : a - b);
  }

  std::vector<Lever> levers_;
  std::vector<double> usual_, weights_;
  std::vector<std::vector<float>> tables_;  ///< by lever, then by difference of positions
};

}  // namespace fatune
