// correlation.hpp - squared distances to correlations; one of the headers that know Eigen.
#pragma once

#include <cstddef>
#include <span>

#include <Eigen/Dense>

#include "model/space/lattice.hpp"
#include "search/strategies/metric.hpp"

namespace fatune {

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

}  // namespace fatune
