// curve_fit.hpp - scattered points to monotone curves: isotonic regression and monotone cubics.
#pragma once

#include <span>
#include <vector>

namespace fatune {

struct Sample {
  double x = 0, y = 0;
};

/// The non-decreasing curve nearest to the samples in least squares (pool adjacent violators), read
/// at any x by linear interpolation, flat beyond the ends. Samples of one x count as their mean.
class IsotonicCurve {
 public:
  explicit IsotonicCurve(std::vector<Sample> samples);  ///< at least one
  double at(double x) const;

 private:
  std::vector<Sample> knots_;
};

/// A piecewise cubic through the knots that is monotone wherever they are (Fritsch and Butland
/// 1984, as in PCHIP). `knots`: at least two, x ascending and distinct.
class MonotoneCubic {
 public:
  explicit MonotoneCubic(std::vector<Sample> knots);
  double at(double x) const;  ///< x between the first and the last knot, else the nearer one's y

 private:
  std::vector<Sample> knots_;
  std::vector<double> slopes_;
};

}  // namespace fatune
