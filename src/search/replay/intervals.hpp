// intervals.hpp - repeats to means and shares with their 95 % intervals.
#pragma once

#include <cstdint>
#include <span>

namespace fatune {

/// A number of a table with the interval it lies in.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// The mean; percentile bootstrap over the samples, which must not be empty. Deterministic for a
/// seed.
Estimate mean_estimate(std::span<const double> samples, std::uint64_t seed);
/// Of the mean; zero below two samples.
double standard_error(std::span<const double> samples);
/// `hits` of `trials` (at least one), with Wilson's interval (1927): it stays within [0, 1] and
/// means something even when all or none hit.
Estimate share_estimate(std::uint64_t hits, std::uint64_t trials);

}  // namespace fatune
