// gaussian_process.cpp: Implements a Gaussian process with incremental Cholesky factor.
#include "search/strategies/gaussian_process.hpp"

#include <algorithm>
#include <numbers>
#include <unordered_map>
#include <utility>

#include <Eigen/Dense>

namespace fatune {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Index = Eigen::Index;

constexpr double kLeastVariance = 1e-6;  // lower limit of variances, against rounding; chosen

// The prior of the hyper-parameters and the step sizes of learn(), on logarithms; chosen.
constexpr double kUsualNoise = 1e-3, kLeastNoise = 1e-5, kMostNoise = 0.3;
constexpr double kWeightSpread = 2, kNoiseSpread = 2, kFarthest = 6;
constexpr int kClimbSteps = 4;
constexpr double kFirstStride = 0.4, kLongestStride = 1, kLonger = 1.4, kShorter = 0.5;

double square(double x) { return x * x; }

Index signed_size(std::size_t size) { return static_cast<Index>(size); }

/// Matern-5/2 correlation of squared distances.
template <typename Distances>
auto correlation(const Eigen::ArrayBase<Distances>& squared) {
  using Scalar = typename Distances::Scalar;
  const auto z = (squared.derived() * Scalar(5)).sqrt().eval();
  return ((Scalar(1) + z + z.square() / Scalar(3)) * (-z).exp()).eval();
}

/// Returns a matrix with one column per point of `columns` and one row per point of `rows`.
Eigen::ArrayXXf squared_distances(const Metric& metric, std::span<const Point> rows,
                                  std::span<const Point> columns) {
  Eigen::ArrayXXf distances(signed_size(rows.size()), signed_size(columns.size()));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    metric.squared_distances(columns[i], rows, {distances.col(signed_size(i)).data(), rows.size()});
  }
  return distances;
}

/// Derivative of correlation() by the squared distance.
Eigen::ArrayXXd correlation_slope(const Eigen::ArrayXXd& squared) {
  const Eigen::ArrayXXd z = (squared * 5).sqrt();
  return -5.0 / 6 * (1 + z) * (-z).exp();
}

Vector to_vector(std::span<const double> values) {
  return Eigen::Map<const Vector>(values.data(), signed_size(values.size()));
}

/// The posterior, with a cache of solved columns. A search predicts hundreds of candidates,
/// observes one point, and predicts nearly the same candidates again. `space` need not outlive it.
class Posterior {
 public:
  Posterior(const Lattice& space, double noise)
      : metric_(space), axes_(space.axes()), noise_(noise) {}

  /// Empties the cache after a change of the metric or of `noise`, a share of the values' variance.
  void reset(double noise) {
    noise_ = noise;
    points_.clear();
    solved_ = 0;
  }

  /// Costs the square of the number of points, for each point from the first that differs from the
  /// last call's.
  void observe(std::span<const Point> points, std::span<const double> values) {
    FATUNE_CHECK(!values.empty() && points.size() >= values.size(), "every value has a point");
    const auto same = std::mismatch(points_.begin(), points_.end(), points.begin(), points.end());
    points_.erase(same.first, points_.end());
    solved_ = std::min(solved_, signed_size(points_.size()));
    if (points_.empty()) {
      const Eigen::ArrayXXf distances = squared_distances(metric_, points, points);
      Eigen::MatrixXd matrix = correlation(distances.cast<double>()).matrix();
      matrix.diagonal().array() += noise_;
      factor_ = Eigen::LLT<Eigen::MatrixXd>(matrix).matrixL();
      points_.assign(points.begin(), points.end());
    }
    for (const Point& point : points.subspan(points_.size())) append(point);

    const Index count = signed_size(values.size());
    whitened_ = Eigen::Map<const Eigen::VectorXd>(values.data(), count);
    mean_ = whitened_.mean();
    whitened_.array() -= mean_;
    const auto lower = factor_.topLeftCorner(count, count).triangularView<Eigen::Lower>();
    lower.solveInPlace(whitened_);
    variance_ = std::max(kLeastVariance, whitened_.squaredNorm() / static_cast<double>(count));
  }

  /// A new point costs the square of the number of observed points. A point of the last call costs
  /// that number times the points observed since.
  std::vector<Prediction> predict(std::span<const Point> points) {
    FATUNE_CHECK(!points_.empty(), "something must have been observed");
    const std::vector<std::size_t> order = arrange(points);
    make_room(signed_size(order.size()));
    std::vector<Point> arranged;
    for (const std::size_t number : order) arranged.push_back(points[number]);
    const auto kept = static_cast<std::size_t>(kept_);
    solve(std::span(arranged).first(kept), 0, solved_);
    solve(std::span(arranged).subspan(kept), kept_, 0);
    solved_ = signed_size(points_.size());

    const auto shares = shares_.topLeftCorner(solved_, signed_size(order.size()));
    const Eigen::VectorXf whitened = whitened_.cast<float>();
    const Eigen::VectorXf means = shares.topRows(whitened.size()).transpose() * whitened;
    const Eigen::VectorXf explained = shares.colwise().squaredNorm();
    std::vector<Prediction> predictions(points.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Index column = signed_size(i);
      const double left = 1 - static_cast<double>(explained(column));
      predictions[order[i]] = {mean_ + static_cast<double>(means(column)),
                               std::sqrt(variance_ * std::max(left, kLeastVariance))};
    }
    return predictions;
  }

 protected:
  Metric metric_;

 private:
  void append(const Point& point) {
    const Index count = signed_size(points_.size());
    if (factor_.rows() <= count) {
      const Index room = std::max<Index>(64, 2 * count);
      Eigen::MatrixXd larger = Eigen::MatrixXd::Zero(room, room);
      larger.topLeftCorner(count, count) = factor_.topLeftCorner(count, count);
      factor_ = std::move(larger);
    }
    const Eigen::ArrayXXf distances = squared_distances(metric_, points_, {&point, 1});
    Eigen::VectorXd row = correlation(distances).matrix().col(0).cast<double>();
    factor_.topLeftCorner(count, count).triangularView<Eigen::Lower>().solveInPlace(row);
    factor_.row(count).head(count) = row.transpose();
    const double left = 1 + noise_ - row.squaredNorm();
    factor_(count, count) = std::sqrt(std::max(left, kLeastVariance));
    points_.push_back(point);
  }

  std::uint64_t code_of(const Point& point) const {
    std::uint64_t code = 0;
    for (std::size_t i = 0; i < point.size(); ++i) code = code * axes_[i].size + point[i];
    return code;
  }

  /// Returns the point of each column; cached columns are moved to the front.
  std::vector<std::size_t> arrange(std::span<const Point> points) {
    std::unordered_map<std::uint64_t, std::size_t> wanted;
    for (std::size_t i = 0; i < points.size(); ++i) wanted.emplace(code_of(points[i]), i);
    FATUNE_CHECK(wanted.size() == points.size(), "no point is asked about twice");
    std::vector<std::uint64_t> codes;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; solved_ > 0 && i < codes_.size(); ++i) {
      const auto found = wanted.extract(codes_[i]);
      if (found.empty()) continue;
      const Index from = signed_size(i), to = signed_size(order.size());
      if (to < from) shares_.col(to).head(solved_) = shares_.col(from).head(solved_);
      codes.push_back(codes_[i]);
      order.push_back(found.mapped());
    }
    kept_ = signed_size(order.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::uint64_t code = code_of(points[i]);
      if (!wanted.contains(code)) continue;
      codes.push_back(code);
      order.push_back(i);
    }
    codes_ = std::move(codes);
    return order;
  }

  void make_room(Index columns) {
    if (shares_.rows() >= factor_.rows() && shares_.cols() >= columns) return;
    Eigen::MatrixXf larger(std::max(shares_.rows(), factor_.rows()),
                           std::max(shares_.cols(), 2 * columns));
    larger.topLeftCorner(solved_, kept_) = shares_.topLeftCorner(solved_, kept_);
    shares_ = std::move(larger);
  }

  /// Solves the columns of `points` from `first_row` on. Single precision takes half the time and
  /// is exact enough to rank candidates.
  void solve(std::span<const Point> points, Index first_column, Index first_row) {
    const Index rows = signed_size(points_.size()) - first_row;
    const Index columns = signed_size(points.size());
    if (rows == 0 || columns == 0) return;
    const auto observed =
        std::span<const Point>(points_).subspan(static_cast<std::size_t>(first_row));
    Eigen::MatrixXf block = correlation(squared_distances(metric_, observed, points)).matrix();
    if (first_row > 0) {
      const Eigen::MatrixXf before = factor_.block(first_row, 0, rows, first_row).cast<float>();
      block.noalias() -= before * shares_.block(0, first_column, first_row, columns);
    }
    const Eigen::MatrixXf factor = factor_.block(first_row, first_row, rows, rows).cast<float>();
    factor.triangularView<Eigen::Lower>().solveInPlace(block);
    shares_.block(first_row, first_column, rows, columns) = block;
  }

  std::vector<Axis> axes_;
  double noise_;
  std::vector<Point> points_;
  Eigen::MatrixXd factor_;    ///< lower Cholesky factor of correlations plus noise; may be larger
  Eigen::VectorXd whitened_;  ///< inverse factor times the centred values
  double mean_ = 0, variance_ = 1;

  // Inverse factor times the correlations of observed and predicted points. The mean is a column's
  // product with whitened_, the variance follows from its length.
  Eigen::MatrixXf shares_;
  std::vector<std::uint64_t> codes_;  ///< the points of the columns
  Index kept_ = 0;                    ///< columns whose first solved_ rows are known
  Index solved_ = 0;
};

}  // namespace

double log_expected_improvement(const Prediction& prediction, double best) {
  const double z = (best - prediction.mean) / prediction.deviation;
  const double log_density = -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi);
  // Density and mass cancel here; the first term of their asymptotic series remains.
  if (z < -6) return std::log(prediction.deviation) + log_density - 2 * std::log(-z);
  const double mass = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return std::log(prediction.deviation) + std::log(z * mass + std::exp(log_density));
}

class GaussianProcess::Algebra : public Posterior {
 public:
  explicit Algebra(const Lattice& space)
      : Posterior(space, kUsualNoise), log_noise_(std::log(kUsualNoise)) {}

  Hyperparameters hyperparameters() const { return {metric_.weights(), log_noise_}; }
  void set(const Hyperparameters& chosen) {
    metric_.set_weights(chosen.weights);
    log_noise_ = chosen.noise;
    reset(std::exp(log_noise_));
  }

  /// Rprop: step lengths depend on whether a slope keeps its sign (Riedmiller, Braun 1993).
  void learn(std::span<const Point> points, std::span<const double> values) {
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

 private:
  /// Returns the objective that learn() minimises. `slopes` receives its derivatives by the weights
  /// and, last, by the noise.
  double objective(std::span<const Point> points, const Vector& values, Vector& slopes) const {
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
    // Derivative by each matrix entry; a weight moves the entries of the pairs that it affects.
    Matrix by_entry = factored.solve(Matrix::Identity(count, count));
    by_entry.noalias() -= pull * pull.transpose() / variance;
    slopes = Vector::Zero(signed_size(metric_.weights().size()) + 1);
    slopes(slopes.size() - 1) = 0.5 * noise * by_entry.trace();
    const Eigen::ArrayXXd by_distance = by_entry.array() * correlation_slope(distances);
    for (const WeightedAxis& weighted : metric_.weighted_axes()) {
      std::vector<double> by_steps(weighted.size, 0);
      for (Index j = 0; j < count; ++j) {
        const int place = points[static_cast<std::size_t>(j)][weighted.axis];
        for (Index i = 0; i < j; ++i) {
          const int steps = std::abs(points[static_cast<std::size_t>(i)][weighted.axis] - place);
          by_steps[static_cast<std::size_t>(steps)] += by_distance(i, j);
        }
      }
      for (std::size_t steps = 1; steps < weighted.size; ++steps) {
        slopes(signed_size(weighted.step)) += by_steps[steps];
        if (weighted.slope == WeightedAxis::kNone) continue;
        slopes(signed_size(weighted.slope)) += by_steps[steps] * weighted.squared_share(steps);
      }
    }
    for (std::size_t i = 0; i < metric_.weights().size(); ++i) {
      slopes(signed_size(i)) *= std::exp(metric_.weights()[i]);
    }
    add_prior(result, slopes);
    return result;
  }

  void add_prior(double& objective, Vector& slopes) const {
    const auto add = [&](Index i, double offset, double spread) {
      objective += 0.5 * square(offset / spread);
      slopes(i) += offset / square(spread);
    };
    for (std::size_t i = 0; i < metric_.weights().size(); ++i) {
      add(signed_size(i), metric_.weights()[i] - metric_.usual_weights()[i], kWeightSpread);
    }
    add(slopes.size() - 1, log_noise_ - std::log(kUsualNoise), kNoiseSpread);
  }

  Vector position() const {
    Vector position(signed_size(metric_.weights().size()) + 1);
    position << to_vector(metric_.weights()), log_noise_;
    return position;
  }

  void move_to(const Vector& position) {
    std::vector<double> weights(position.data(), position.data() + position.size() - 1);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double usual = metric_.usual_weights()[i];
      weights[i] = std::clamp(weights[i], usual - kFarthest, usual + kFarthest);
    }
    const double noise = position(position.size() - 1);
    set({std::move(weights), std::clamp(noise, std::log(kLeastNoise), std::log(kMostNoise))});
  }

  double log_noise_;
};

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
std::vector<Prediction> GaussianProcess::predict(std::span<const Point> points) {
  return algebra_->predict(points);
}

}  // namespace fatune
