// gaussian_process.hpp: Predicts the values at untried points with a Gaussian process.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "model/space/lattice.hpp"

namespace fatune {

/// An axis of more than one value, and the places of its weights in the metric.
struct WeightedAxis {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t axis = 0;
  std::size_t size = 0;       ///< number of values of the axis
  std::size_t slope = kNone;  ///< kNone unless the axis has more than two values, all numbers
  std::size_t step = 0;

  /// Returns the square of `steps` positions over the axis's length.
  double squared_share(std::size_t steps) const {
    const double share = static_cast<double>(steps) / static_cast<double>(size - 1);
    return share * share;
  }
};

/// Squared distance: the sum of step + slope * x^2 over the axes in which two points differ. x is
/// their difference in positions over the axis's length. A weight near zero makes an axis inert.
/// Weights are stored as logarithms.
class Metric {
 public:
  /// Starts with the usual weights, under which two random points are about 1 apart.
  explicit Metric(const Lattice& space) {
    for (std::size_t i = 0; i < space.axes().size(); ++i) {
      if (space.axes()[i].size > 1) weighted_.push_back({.axis = i, .size = space.axes()[i].size});
    }
    const double share = 1.0 / static_cast<double>(weighted_.size());
    for (WeightedAxis& weighted : weighted_) {
      const bool sloped = space.axes()[weighted.axis].ordinal && weighted.size > 2;
      if (sloped) {
        weighted.slope = usual_.size();
        usual_.push_back(std::log(kUsualSlope * share));
      }
      weighted.step = usual_.size();
      usual_.push_back(std::log((sloped ? kUsualStep : kUsualWordStep) * share));
    }
    set_weights(usual_);
  }

  const std::vector<WeightedAxis>& weighted_axes() const { return weighted_; }
  const std::vector<double>& usual_weights() const { return usual_; }
  const std::vector<double>& weights() const { return weights_; }
  void set_weights(const std::vector<double>& weights) {
    FATUNE_CHECK(weights.size() == usual_.size(), "a metric keeps its number of weights");
    weights_ = weights;
    tables_.resize(weighted_.size());
    for (std::size_t i = 0; i < weighted_.size(); ++i) {
      const WeightedAxis& weighted = weighted_[i];
      const double step = std::exp(weights_[weighted.step]);
      const double slope =
          weighted.slope == WeightedAxis::kNone ? 0 : std::exp(weights_[weighted.slope]);
      tables_[i].assign(weighted.size, 0);
      for (std::size_t steps = 1; steps < weighted.size; ++steps) {
        tables_[i][steps] = static_cast<float>(step + slope * weighted.squared_share(steps));
      }
    }
  }

  /// Writes the squared distances of `point` from `others` to `distances`, which has their length.
  void squared_distances(const Point& point, std::span<const Point> others,
                         std::span<float> distances) const {
    for (std::size_t i = 0; i < others.size(); ++i) {
      float sum = 0;
      for (std::size_t j = 0; j < weighted_.size(); ++j) {
        const std::size_t axis = weighted_[j].axis;
        sum += tables_[j][steps_between(point[axis], others[i][axis])];
      }
      distances[i] = sum;
    }
  }

 private:
  // Chosen: numbers at the ends of an axis are farther apart than two words, neighbouring numbers
  // much nearer.
  static constexpr double kUsualSlope = 4, kUsualStep = 0.4, kUsualWordStep = 1;

  static std::size_t steps_between(std::uint16_t a, std::uint16_t b) {
    return static_cast<std::size_t>(a < b ? b - a : a - b);
  }

  std::vector<WeightedAxis> weighted_;
  std::vector<double> usual_, weights_;
  std::vector<std::vector<float>> tables_;  ///< by weighted axis, then by difference of positions
};

/// A normal distribution of the value at a point.
struct Prediction {
  double mean = 0;
  double deviation = 0;
};

/// Returns the logarithm of the expected improvement below `best`. The logarithm keeps hopeless
/// candidates comparable.
double log_expected_improvement(const Prediction& prediction, double best);

/// The hyper-parameters as logarithms: the weights of the metric and the share of
/// noise in the values' variance.
struct Hyperparameters {
  std::vector<double> weights;
  double noise = 0;
};

/// A Gaussian process over a lattice with constant mean, Matern-5/2 correlation of a metric's
/// distance, and maximum-likelihood variance. `space` need not outlive it.
class GaussianProcess {
 public:
  explicit GaussianProcess(const Lattice& space);
  ~GaussianProcess();
  GaussianProcess(const GaussianProcess&) = delete;
  GaussianProcess& operator=(const GaussianProcess&) = delete;

  Hyperparameters hyperparameters() const;
  void set(const Hyperparameters& chosen);
  /// Improves the hyper-parameters by a few steps on the marginal likelihood times a prior around
  /// the usual weights. A step costs the cube of the number of points.
  void learn(std::span<const Point> points, std::span<const double> values);
  /// Replaces the observations. Points beyond the values are in flight: their values are assumed to
  /// equal the predictions. The call is cheap if it extends the points of the last call and learn()
  /// was not called in between.
  void observe(std::span<const Point> points, std::span<const double> values);
  /// Returns a prediction for each point; the points must differ. observe() must have been called.
  /// Points of the last call are cheap.
  std::vector<Prediction> predict(std::span<const Point> points);

 private:
  class Algebra;
  std::unique_ptr<Algebra> algebra_;
};

}  // namespace fatune
