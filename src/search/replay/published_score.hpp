// published_score.hpp - runs on a time axis to the score of autotuning_methodology.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/replay/score.hpp"

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

/// What the method of doi 10.1016/j.future.2024.05.021 prescribes for one space, with the settings
/// of its published comparisons: cut-off 0.95, start 0.01, a thousand points of time.
class PublishedMethod {
 public:
  /// Empty when the file has no times, or when random search reaches the cut-off within ten
  /// evaluations: little is left to be scored then.
  static std::optional<PublishedMethod> of(const Recording& recording, const Landscape& landscape);

  /// What evaluating each config takes; the median where the file says nothing.
  const std::vector<double>& seconds() const { return seconds_; }
  std::uint64_t budget_evaluations() const { return evaluations_; }
  double budget_seconds() const { return end_; }

  /// Mean over the points of time of (S_baseline - F) / (S_baseline - optimum), where F is the cost
  /// at the mean rank of the runs' best by then: 0 is random search, 1 the optimum at once.
  double score(const std::vector<Trace>& traces, const Recording& recording) const;

 private:
  double time_at(std::size_t point) const;
  /// The calculated baseline at each point of time: what random search is expected to have found.
  std::vector<double> baseline() const;
  /// The cost at a rank; rank 0 is the worst.
  double cost_at(double rank) const;

  std::vector<double> worst_first_;
  std::vector<double> seconds_;
  std::uint64_t evaluations_ = 0;
  double start_ = 0, end_ = 0;  ///< seconds
  double seconds_each_ = 0;     ///< of an evaluation on average, failures counted in
};

}  // namespace fatune
