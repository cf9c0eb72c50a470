// statistics.hpp: Computes medians, quartiles, standard errors and bootstrap intervals of samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// Quantile by linear interpolation; `sorted` is ascending and not empty.
double quantile(std::span<const double> sorted, double q);
double mean(std::span<const double> samples);  ///< 0 for an empty list
double median(std::vector<double> samples);
std::optional<double> geomean(std::span<const double> ratios);  ///< empty for an empty list
/// Standard error of the median over the median, from the interquartile range (1.2533 * IQR/1.349 /
/// sqrt(n)). Infinity below 3 samples.
double relative_standard_error(std::span<const double> samples);
/// Standard error of a difference, from the errors of its two sides. Avoids std::hypot, which
/// requires glibc 2.35; the wheel supports older versions.
double standard_error_of_difference(double a, double b);
/// Tells whether a search's few samples show that one candidate is slower than another.
bool told_apart(const Timing& slower, const Timing& faster);
Timing summarize(std::span<const double> samples_us, std::int64_t launches_per_sample);

/// Spread of a list of samples for `bench`.
struct Quantiles {
  double p05 = 0, p25 = 0, p50 = 0, p75 = 0, p95 = 0;
};
Quantiles quantiles(std::span<const double> samples);  ///< not empty, in any order

/// Fewer samples give no useful interval: with 10 rounds the 95 % interval of a median already
/// spans from the second to the ninth value.
inline constexpr std::size_t kLeastSamples = 10;
/// Fails for fewer than kLeastSamples, and for a sample that is no time (NaN, infinite, not
/// positive). The message begins with `row`, the row's name.
Status check_samples(std::span<const double> samples_us, const std::string& row);

struct Interval {
  double low = 0, high = 0;
};
/// Number of resamples behind every published interval.
inline constexpr int kResamples = 10'000;
/// Percentile bootstrap over rounds with `resamples` resamples, 95 %. Deterministic for a seed.
Interval bootstrap_median(std::span<const double> rounds, int resamples, std::uint64_t seed);
/// Interval of median(a)/median(b). Rounds are paired: both sides draw equal rounds.
Interval bootstrap_ratio(std::span<const double> a, std::span<const double> b, int resamples,
                         std::uint64_t seed);

/// Interval of a ratio for samples of two runs, which are not paired: each side draws its own
/// rounds. The sample counts may differ.
Interval bootstrap_ratio_unpaired(std::span<const double> a, std::span<const double> b,
                                  int resamples, std::uint64_t seed);

/// Allowed difference between two copies of one kernel. The placement of code and data in memory
/// moves the median a little, equally in every round. Two copies of fa_mma differed by 0.11 % on an
/// H200, with an interval that excluded 1 (results/h200/gate-tie-2.json). Chosen: four times this
/// difference.
inline constexpr double kSameSpeed = 0.005;

/// Faster and slower require that the whole interval of candidate/baseline lies beyond `same` on
/// one side of 1; otherwise the verdict is a tie.
enum class Verdict { kFaster, kSlower, kTie };
Verdict compare_interval(const Interval& ratio, double same);
std::string_view name(Verdict verdict);
/// Excellent <= 0.50, Good <= 0.80, Modest <= 0.95, Parity <= 1.05, Regression above; chosen
/// (docs/measuring.md).
std::string_view verdict_word(double ratio);

}  // namespace fatune
