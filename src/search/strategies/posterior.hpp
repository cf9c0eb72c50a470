// posterior.hpp - a Gaussian process's algebra; the one header that knows Eigen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Dense>

#include "model/space/lattice.hpp"
#include "search/strategies/gaussian_process.hpp"
#include "search/strategies/metric.hpp"

namespace fatune {

inline constexpr double kLeastVariance = 1e-6;  ///< of values, and of beliefs, against rounding

inline Eigen::Index signed_size(std::size_t size) { return static_cast<Eigen::Index>(size); }

/// Matern-5/2, of squared distances.
template <typename Distances>
auto correlation(const Eigen::ArrayBase<Distances>& squared) {
  using Scalar = typename Distances::Scalar;
  const auto z = (squared.derived() * Scalar(5)).sqrt().eval();
  return ((Scalar(1) + z + z.square() / Scalar(3)) * (-z).exp()).eval();
}

/// One column for each of `columns`, one row for each of `rows`.
inline Eigen::ArrayXXf squared_distances(const Metric& metric, std::span<const Point> rows,
                                         std::span<const Point> columns) {
  Eigen::ArrayXXf distances(signed_size(rows.size()), signed_size(columns.size()));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    metric.squared_distances(columns[i], rows, {distances.col(signed_size(i)).data(), rows.size()});
  }
  return distances;
}

/// Keeps what it worked out as long as it is asked about the same points after seeing more of the
/// same: a search asks about hundreds of candidates, learns of one, and asks again about nearly the
/// same. `metric` must outlive it, `space` need not.
class Posterior {
 public:
  Posterior(const Lattice& space, const Metric& metric) : axes_(space.axes()), metric_(metric) {}

  /// Begins anew: the metric has changed, or the noise, a share of the values' variance.
  void reset(double noise);
  /// All that is known from now on. Points beyond the values are in flight: believed to come out as
  /// the model expects. Costs the square of the number of points for each that is not as it was in
  /// the last call, and for each after it.
  void observe(std::span<const Point> points, std::span<const double> values);
  /// The points must differ. Costs, for each that the last call was not asked about, the square of
  /// the number of points observed; for the others that number, times those observed since.
  std::vector<Belief> predict(std::span<const Point> points);

 private:
  using Index = Eigen::Index;
  void append(const Point& point);
  std::uint64_t code_of(const Point& point) const;
  std::vector<std::size_t> arrange(std::span<const Point> points);
  void make_room(Index columns);
  void solve(std::span<const Point> points, Index first_column, Index first_row);

  std::vector<Axis> axes_;
  const Metric& metric_;
  double noise_ = 0;
  std::vector<Point> points_;
  Eigen::MatrixXd factor_;     ///< lower Cholesky factor of correlations and noise; may be larger
  Eigen::VectorXd surprises_;  ///< the factor's inverse, times the values less their mean
  double mean_ = 0, variance_ = 1;

  // The factor's inverse, times the correlations of the points observed with those asked about; a
  // belief is a column's product with the surprises, and its length.
  Eigen::MatrixXf shares_;
  std::vector<std::uint64_t> codes_;  ///< whose columns they are
  Index kept_ = 0;                    ///< columns whose first solved_ rows are known
  Index solved_ = 0;
};

}  // namespace fatune
