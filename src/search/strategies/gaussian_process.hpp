// gaussian_process.hpp - values at some points to beliefs about the values at others.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/space/lattice.hpp"

namespace fatune {

/// A normal distribution.
struct Belief {
  double mean = 0;
  double deviation = 0;
};

/// The logarithm of how far a draw from `belief` is expected to lie below `best`; a logarithm,
/// because the hopeless ones of many candidates are still to be ranked.
double log_expected_improvement(const Belief& belief, double best);

/// What the likelihood leaves to be chosen, as logarithms: a metric's weights (metric.hpp)
/// and the share of noise in the values' variance.
struct Hyperparameters {
  std::vector<double> weights;
  double noise = 0;
};

/// A Gaussian process over a lattice: constant mean, Matern-5/2 correlation of a metric's distance,
/// variance by maximum likelihood. `space` need not outlive it.
class GaussianProcess {
 public:
  explicit GaussianProcess(const Lattice& space);
  ~GaussianProcess();
  GaussianProcess(const GaussianProcess&) = delete;
  GaussianProcess& operator=(const GaussianProcess&) = delete;

  Hyperparameters hyperparameters() const;
  void set(const Hyperparameters& chosen);
  /// Climbs the marginal likelihood of these values, times a prior around the usual weights, a few
  /// steps from where it is. Costs the cube of the number of points at each step.
  void learn(std::span<const Point> points, std::span<const double> values);
  /// What is known from now on. Points beyond the values are in flight: believed to come out as the
  /// model expects. Cheap where they continue the points of the last call and nothing was learnt in
  /// between.
  void observe(std::span<const Point> points, std::span<const double> values);
  /// Something must have been observed, and the points must differ. Cheap for those that the last
  /// call was asked about, too.
  std::vector<Belief> predict(std::span<const Point> points);

 private:
  class Algebra;
  std::unique_ptr<Algebra> algebra_;
};

}  // namespace fatune
