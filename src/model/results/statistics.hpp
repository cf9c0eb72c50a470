// statistics.hpp - means, medians, quartiles, standard errors and bootstrap intervals of samples.
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

/// Linear interpolation; `sorted` ascending, not empty.
double quantile(std::span<const double> sorted, double q);
double mean(std::span<const double> samples);  ///< 0 of none
double median(std::vector<double> samples);
std::optional<double> geomean(std::span<const double> ratios);  ///< none of none
/// Standard error of the median over the median, from the interquartile range (1.2533 * IQR/1.349 /
/// sqrt(n)). Infinity below 3 samples.
double relative_standard_error(std::span<const double> samples);
/// Of a difference, from those of its two sides. (std::hypot asks for glibc 2.35, which the wheel
/// need not have.)
double standard_error_of_difference(double a, double b);
/// Whether the few samples of a search say that one candidate is slower than another.
bool told_apart(const Timing& slower, const Timing& faster);
Timing summarize(std::span<const double> samples_us, std::int64_t launches_per_sample);

/// The spread of a list of samples, as `bench` shows it.
struct Quantiles {
  double p05 = 0, p25 = 0, p50 = 0, p75 = 0, p95 = 0;
};
Quantiles quantiles(std::span<const double> samples);  ///< not empty, in any order

/// Fewer samples give no useful interval: with 10 rounds the 95 % interval of a median already
/// spans from the second to the ninth value.
inline constexpr std::size_t kLeastSamples = 10;
/// Fails on fewer than kLeastSamples, and on a sample that is no time (NaN, infinite, not
/// positive). The message begins with `row`, the row's name.
Status check_samples(std::span<const double> samples_us, const std::string& row);

struct Interval {
  double low = 0, high = 0;
};
/// Resamples behind every published interval.
inline constexpr int kResamples = 10'000;
/// Percentile bootstrap over rounds, `resamples` resamples, 95 %. Deterministic for a seed.
Interval bootstrap_median(std::span<const double> rounds, int resamples, std::uint64_t seed);
/// Interval of median(a)/median(b); rounds are paired, so the same rounds are drawn for both.
Interval bootstrap_ratio(std::span<const double> a, std::span<const double> b, int resamples,
                         std::uint64_t seed);

/// The same for samples of two runs, which are not paired: each side is drawn for itself. Their
/// numbers may differ.
Interval bootstrap_ratio_unpaired(std::span<const double> a, std::span<const double> b,
                                  int resamples, std::uint64_t seed);

/// The difference allowed between two copies of one kernel: the places of code and data in memory
/// move the median a little, the same way in every round. Two of fa_mma differed by 0.11 %, with an
/// interval that left out 1, on an H200 (results/h200/gate-tie-2.json). Chosen: four times that.
inline constexpr double kSameSpeed = 0.005;

/// "faster", "slower" or "tie": the whole interval of candidate/baseline must be beyond `same` on
/// one side of 1.
enum class Verdict { kFaster, kSlower, kTie };
Verdict compare_interval(const Interval& ratio, double same);
std::string_view name(Verdict verdict);
/// Excellent <= 0.50, Good <= 0.80, Modest <= 0.95, Parity <= 1.05, Regression above; chosen
/// (docs/measuring.md).
std::string_view verdict_word(double ratio);

}  // namespace fatune
