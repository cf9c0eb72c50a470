// gaussian_process.cpp - the linear algebra of a Gaussian process; the only file that knows Eigen.
#include "search/gaussian_process.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <Eigen/Dense>

#include "base/check.hpp"
#include "search/metric.hpp"

namespace fatune {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Index = Eigen::Index;

// The prior of the hyper-parameters and the climb's steps; chosen, on logarithms.
constexpr double kUsualNoise = 1e-3, kLeastNoise = 1e-5, kMostNoise = 0.3;
constexpr double kWeightSpread = 1.5, kNoiseSpread = 2, kFarthest = 6;
constexpr int kClimbSteps = 8;
constexpr double kFirstStride = 0.4, kLongestStride = 1, kLonger = 1.4, kShorter = 0.5;
constexpr double kLeastVariance = 1e-6;  ///< of values, and of beliefs, against rounding

Index signed_size(std::size_t size) { return static_cast<Index>(size); }

double square(double x) { return x * x; }

/// Matern-5/2, of squared distances.
template <typename Distances>
auto correlation(const Eigen::ArrayBase<Distances>& squared) {
  using Scalar = typename Distances::Scalar;
  const auto z = (squared.derived() * Scalar(5)).sqrt().eval();
  return ((Scalar(1) + z + z.square() / Scalar(3)) * (-z).exp()).eval();
}

/// Its derivative by the squared distance.
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
  explicit Algebra(const Lattice& space) : metric_(space), log_noise_(std::log(kUsualNoise)) {}

  Hyperparameters hyperparameters() const { return {metric_.weights(), log_noise_}; }
  void set(const Hyperparameters& chosen);
  void learn(std::span<const Point> points, std::span<const double> values);
  void observe(std::span<const Point> points, std::span<const double> values);
  std::vector<Belief> predict(std::span<const Point> points) const;

 private:
  /// The objective of learn(), to be made small, at the present hyper-parameters; `slopes` are its
  /// derivatives by the weights and, last, by the noise.
  double objective(std::span<const Point> points, const Vector& values, Vector& slopes) const;
  void add_prior(double& objective, Vector& slopes) const;
  Vector position() const;
  void move_to(const Vector& position);
  Eigen::ArrayXXd squared_distances(std::span<const Point> points) const;
  /// Adds a point to those factored.
  void append(const Point& point);

  Metric metric_;
  double log_noise_;
  std::vector<Point> points_;
  Matrix factor_;  ///< lower Cholesky factor of the points' correlations and noise; may be larger
  Vector pull_;    ///< the inverse of that matrix, times the values
  double mean_ = 0, variance_ = 1;
};

void GaussianProcess::Algebra::set(const Hyperparameters& chosen) {
  metric_.set_weights(chosen.weights);
  log_noise_ = chosen.noise;
  points_.clear();
}

Eigen::ArrayXXd GaussianProcess::Algebra::squared_distances(std::span<const Point> points) const {
  Eigen::ArrayXXf distances(signed_size(points.size()), signed_size(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    metric_.squared_distances(points[i], points,
                              {distances.col(signed_size(i)).data(), points.size()});
  }
  return distances.cast<double>();
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
  const Eigen::ArrayXXd distances = squared_distances(points);
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

void GaussianProcess::Algebra::append(const Point& point) {
  const Index count = signed_size(points_.size());
  if (factor_.rows() <= count) {
    const Index room = std::max<Index>(64, 2 * count);
    Matrix larger = Matrix::Zero(room, room);
    larger.topLeftCorner(count, count) = factor_.topLeftCorner(count, count);
    factor_ = std::move(larger);
  }
  Eigen::ArrayXf distances(count);
  metric_.squared_distances(point, points_, {distances.data(), points_.size()});
  Vector row = correlation(distances).matrix().cast<double>();
  factor_.topLeftCorner(count, count).triangularView<Eigen::Lower>().solveInPlace(row);
  factor_.row(count).head(count) = row.transpose();
  const double left = 1 + std::exp(log_noise_) - row.squaredNorm();
  factor_(count, count) = std::sqrt(std::max(left, kLeastVariance));
  points_.push_back(point);
}

void GaussianProcess::Algebra::observe(std::span<const Point> points,
                                       std::span<const double> values) {
  FATUNE_CHECK(!points.empty() && points.size() == values.size(), "every point has a value");
  const auto same = std::mismatch(points_.begin(), points_.end(), points.begin(), points.end());
  points_.erase(same.first, points_.end());
  if (points_.empty()) {
    const Eigen::ArrayXXd distances = squared_distances(points);
    Matrix matrix = correlation(distances).matrix();
    matrix.diagonal().array() += std::exp(log_noise_);
    factor_ = Eigen::LLT<Matrix>(matrix).matrixL();
    points_.assign(points.begin(), points.end());
  }
  for (const Point& point : points.subspan(points_.size())) append(point);

  const Index count = signed_size(points.size());
  const auto lower = factor_.topLeftCorner(count, count).triangularView<Eigen::Lower>();
  pull_ = to_vector(values);
  mean_ = pull_.mean();
  pull_.array() -= mean_;
  lower.solveInPlace(pull_);
  variance_ = std::max(kLeastVariance, pull_.squaredNorm() / static_cast<double>(count));
  lower.transpose().solveInPlace(pull_);
}

std::vector<Belief> GaussianProcess::Algebra::predict(std::span<const Point> points) const {
  const Index known = signed_size(points_.size());
  Eigen::ArrayXXf distances(known, signed_size(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    metric_.squared_distances(points[i], points_,
                              {distances.col(signed_size(i)).data(), points_.size()});
  }
  // Single precision: half the time, and exact enough to rank candidates.
  Eigen::MatrixXf shared = correlation(distances).matrix();
  const Eigen::VectorXf means = shared.transpose() * pull_.cast<float>();
  const Eigen::MatrixXf factor = factor_.topLeftCorner(known, known).cast<float>();
  factor.triangularView<Eigen::Lower>().solveInPlace(shared);
  std::vector<Belief> beliefs(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Index column = signed_size(i);
    const double left = 1 - static_cast<double>(shared.col(column).squaredNorm());
    beliefs[i].mean = mean_ + static_cast<double>(means(column));
    beliefs[i].deviation = std::sqrt(variance_ * std::max(left, kLeastVariance));
  }
  return beliefs;
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
  algebra_->observe(points, values);
}
std::vector<Belief> GaussianProcess::predict(std::span<const Point> points) const {
  return algebra_->predict(points);
}

}  // namespace fatune
