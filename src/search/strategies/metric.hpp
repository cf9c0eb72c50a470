// metric.hpp - how far points are apart to a model, axis by axis, with weights that can be learnt.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

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
  explicit Metric(const Lattice& space);

  const std::vector<Lever>& levers() const { return levers_; }
  const std::vector<double>& usual_weights() const { return usual_; }
  const std::vector<double>& weights() const { return weights_; }
  void set_weights(const std::vector<double>& weights);

  /// Of `point` from each of `others`, into `distances`, which is as long.
  void squared_distances(const Point& point, std::span<const Point> others,
                         std::span<float> distances) const;

 private:
  std::vector<Lever> levers_;
  std::vector<double> usual_, weights_;
  std::vector<std::vector<float>> tables_;  ///< by lever, then by difference of positions
};

}  // namespace fatune
