// belief.hpp - a model's prediction of the value at a point.
#pragma once

namespace fatune {

/// A normal distribution.
struct Belief {
  double mean = 0;
  double deviation = 0;
};

}  // namespace fatune
