// gaussian_process.hpp: Predicts the values at untried points with a Gaussian process.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/space/lattice.hpp"

namespace fatune {

/// A normal distribution of the value at a point.
struct Prediction {
  double mean = 0;
  double deviation = 0;
};

/// Returns the logarithm of the expected improvement below `best`. The logarithm keeps hopeless
/// candidates comparable.
double log_expected_improvement(const Prediction& prediction, double best);

/// The hyper-parameters as logarithms: the weights of the metric (metric.hpp) and the share of
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
