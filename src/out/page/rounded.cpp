// rounded.cpp - rounds in decimal, as people read it.
#include "out/page/rounded.hpp"

#include <cmath>

namespace fatune {

double rounded(double value, int digits) {
  if (!std::isfinite(value) || value == 0) return 0;
  const int places = digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  // Powers of ten up to 22 are exact: dividing by one gives the double nearest to the decimal.
  const double scale = std::pow(10.0, std::abs(places));
  return places >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}

}  // namespace fatune
