// gaussian_process.cpp - a climb to the likeliest hyper-parameters.
#include "search/strategies/gaussian_process.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <Eigen/Dense>

#include "core/check.hpp"
#include "search/strategies/metric.hpp"
#include "search/strategies/posterior.hpp"

namespace fatune {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Index = Eigen::Index;

// The prior of the hyper-parameters and the climb's steps; chosen, on logarithms.
constexpr double kUsualNoise = 1e-3, kLeastNoise = 1e-5, kMostNoise = 0.3;
constexpr double kWeightSpread = 2, kNoiseSpread = 2, kFarthest = 6;
constexpr int kClimbSteps = 4;
constexpr double kFirstStride = 0.4, kLongestStride = 1, kLonger = 1.4, kShorter = 0.5;

double square(double x) { return x * x; }

/// The derivative of correlation() by the squared distance.
Eigen::ArrayXXd correlation_slope(const Eigen::ArrayXXd& squared) {
  const Eigen::ArrayXXd z = (squared * 5).sqrt();
  return -5.0 / 6 * (1 + z) * (-z).exp();
}

Vector to_vector(std::span<const double> values) {
  return Eigen::Map<const Vector>(values.data(), signed_size(values.size()));
}

}  // namespace

double log_expected_improvement(const Belief& belief, double best) {
  const double z = (best - belief.mean) / belief.deviation;
  const double log_density = -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi);
  // Below, density and mass cancel: the first term of their asymptotic series is what is left.
  if (z < -6) return std::log(belief.deviation) + log_density - 2 * std::log(-z);
  const double mass = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return std::log(belief.deviation) + std::log(z * mass + std::exp(log_density));
}

class GaussianProcess::Algebra {
 public:
  explicit Algebra(const Lattice& space)
      : metric_(space), log_noise_(std::log(kUsualNoise)), posterior_(space, metric_) {
    posterior_.reset(kUsualNoise);
  }

  Hyperparameters hyperparameters() const { return {metric_.weights(), log_noise_}; }
  void set(const Hyperparameters& chosen);
  void learn(std::span<const Point> points, std::span<const double> values);
  Posterior& posterior() { return posterior_; }

 private:
  /// The objective of learn(), to be made small, at the present hyper-parameters; `slopes` are its
  /// derivatives by the weights and, last, by the noise.
  double objective(std::span<const Point> points, const Vector& values, Vector& slopes) const;
  void add_prior(double& objective, Vector& slopes) const;
  Vector position() const;
  void move_to(const Vector& position);

  Metric metric_;
  double log_noise_;
  Posterior posterior_;
};

void GaussianProcess::Algebra::set(const Hyperparameters& chosen) {
  metric_.set_weights(chosen.weights);
  log_noise_ = chosen.noise;
  posterior_.reset(std::exp(log_noise_));
}

Vector GaussianProcess::Algebra::position() const {
  Vector position(signed_size(metric_.weights().size()) + 1);
  position << to_vector(metric_.weights()), log_noise_;
  return position;
}

void GaussianProcess::Algebra::move_to(const Vector& position) {
  std::vector<double> weights(position.data(), position.data() + position.size() - 1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double usual = metric_.usual_weights()[i];
    weights[i] = std::clamp(weights[i], usual - kFarthest, usual + kFarthest);
  }
  const double noise = position(position.size() - 1);
  set({std::move(weights), std::clamp(noise, std::log(kLeastNoise), std::log(kMostNoise))});
}

void GaussianProcess::Algebra::add_prior(double& objective, Vector& slopes) const {
  const auto add = [&](Index i, double offset, double spread) {
    objective += 0.5 * square(offset / spread);
    slopes(i) += offset / square(spread);
  };
  for (std::size_t i = 0; i < metric_.weights().size(); ++i) {
    add(signed_size(i), metric_.weights()[i] - metric_.usual_weights()[i], kWeightSpread);
  }
  add(slopes.size() - 1, log_noise_ - std::log(kUsualNoise), kNoiseSpread);
}

double GaussianProcess::Algebra::objective(std::span<const Point> points, const Vector& values,
                                           Vector& slopes) const {
  const Index count = signed_size(points.size());
  const double noise = std::exp(log_noise_);
  const Eigen::ArrayXXd distances = squared_distances(metric_, points, points).cast<double>();
  Matrix matrix = correlation(distances).matrix();
  matrix.diagonal().array() += noise;
  const Eigen::LLT<Matrix> factored(matrix);
  const Vector pull = factored.solve(values);
  const double variance = std::max(kLeastVariance, values.dot(pull) / static_cast<double>(count));
  double result = 0.5 * static_cast<double>(count) * std::log(variance) +
                  factored.matrixLLT().diagonal().array().log().sum();
  // The derivative by each entry of the matrix; a weight moves the entries of the pairs it acts on.
  Matrix by_entry = factored.solve(Matrix::Identity(count, count));
  by_entry.noalias() -= pull * pull.transpose() / variance;
  slopes = Vector::Zero(signed_size(metric_.weights().size()) + 1);
  slopes(slopes.size() - 1) = 0.5 * noise * by_entry.trace();
  const Eigen::ArrayXXd by_distance = by_entry.array() * correlation_slope(distances);
  for (const Lever& lever : metric_.levers()) {
    std::vector<double> by_steps(lever.size, 0);
    for (Index j = 0; j < count; ++j) {
      const int place = points[static_cast<std::size_t>(j)][lever.axis];
      for (Index i = 0; i < j; ++i) {
        const int steps = std::abs(points[static_cast<std::size_t>(i)][lever.axis] - place);
        by_steps[static_cast<std::size_t>(steps)] += by_distance(i, j);
      }
    }
    for (std::size_t steps = 1; steps < lever.size; ++steps) {
      slopes(signed_size(lever.step)) += by_steps[steps];
      if (lever.slope == Lever::kNone) continue;
      slopes(signed_size(lever.slope)) += by_steps[steps] * lever.squared_share(steps);
    }
  }
  for (std::size_t i = 0; i < metric_.weights().size(); ++i) {
    slopes(signed_size(i)) *= std::exp(metric_.weights()[i]);
  }
  add_prior(result, slopes);
  return result;
}

/// Steps whose length depends on whether a slope keeps its sign (Rprop: Riedmiller, Braun 1993).
void GaussianProcess::Algebra::learn(std::span<const Point> points,
                                     std::span<const double> values) {
  Vector centred = to_vector(values);
  centred.array() -= centred.mean();
  const double spread = std::sqrt(centred.squaredNorm() / static_cast<double>(values.size()));
  if (!(spread > 0)) return;
  centred /= spread;
  Vector at = position(), best = at, slopes;
  Vector before = Vector::Zero(at.size()), stride = Vector::Constant(at.size(), kFirstStride);
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0;; ++step) {
    const double found = objective(points, centred, slopes);
    if (found < least) {
      least = found;
      best = at;
    }
    if (step == kClimbSteps) break;
    for (Index i = 0; i < at.size(); ++i) {
      const double agreement = slopes(i) * before(i);
      if (agreement > 0) stride(i) = std::min(kLongestStride, stride(i) * kLonger);
      if (agreement < 0) stride(i) *= kShorter;
      if (slopes(i) != 0) at(i) -= slopes(i) > 0 ? stride(i) : -stride(i);
    }
    before = slopes;
    move_to(at);
    at = position();
  }
  move_to(best);
}

GaussianProcess::GaussianProcess(const Lattice& space)
    : algebra_(std::make_unique<Algebra>(space)) {}
GaussianProcess::~GaussianProcess() = default;

Hyperparameters GaussianProcess::hyperparameters() const { return algebra_->hyperparameters(); }
void GaussianProcess::set(const Hyperparameters& chosen) { algebra_->set(chosen); }
void GaussianProcess::learn(std::span<const Point> points, std::span<const double> values) {
  algebra_->learn(points, values);
}
void GaussianProcess::observe(std::span<const Point> points, std::span<const double> values) {
  algebra_->posterior().observe(points, values);
}
std::vector<Belief> GaussianProcess::predict(std::span<const Point> points) {
  return algebra_->posterior().predict(points);
}

}  // namespace fatune
