// published_score.hpp: Computes the score of autotuning_methodology from replayed runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/replay/score.hpp"

namespace fatune {

struct Sample {
  double x = 0, y = 0;
};

/// Isotonic regression: the non-decreasing least-squares curve (pool adjacent violators). It is
/// linear between samples and flat beyond them. Samples of one x count as their mean.
class IsotonicCurve {
 public:
  explicit IsotonicCurve(std::vector<Sample> samples);  ///< at least one
  double at(double x) const;

 private:
  std::vector<Sample> knots_;
};

/// A piecewise cubic that is monotone wherever its knots are (Fritsch and Butland 1984, as in
/// PCHIP). It needs at least two knots with ascending, distinct x.
class MonotoneCubic {
 public:
  explicit MonotoneCubic(std::vector<Sample> knots);
  double at(double x) const;  ///< beyond the knots, the y of the nearest knot

 private:
  std::vector<Sample> knots_;
  std::vector<double> slopes_;
};

/// The method of doi 10.1016/j.future.2024.05.021 for one space, with the settings of its published
/// comparisons: cut-off 0.95, start 0.01, a thousand points of time.
class PublishedMethod {
 public:
  /// Empty if the file has no times, or if random search reaches the cut-off within ten
  /// evaluations, which leaves little to score.
  static std::optional<PublishedMethod> of(const Recording& recording, const Landscape& landscape);

  /// Returns the evaluation time of each config; the median where the file has none.
  const std::vector<double>& seconds() const { return seconds_; }
  std::uint64_t budget_evaluations() const { return evaluations_; }
  double budget_seconds() const { return end_; }

  /// Returns the mean over time of (S_baseline - F) / (S_baseline - optimum). F is the cost at the
  /// mean rank of the runs' best. 0 is random search, 1 is the optimum at once.
  double score(const std::vector<Trace>& traces, const Recording& recording) const;

 private:
  double time_at(std::size_t point) const;
  /// Returns the expected best of random search at each point of time.
  std::vector<double> baseline() const;
  /// Returns the cost at a rank; rank 0 is the worst.
  double cost_at(double rank) const;

  std::vector<double> worst_first_;
  std::vector<double> seconds_;
  std::uint64_t evaluations_ = 0;
  double start_ = 0, end_ = 0;  ///< seconds
  double seconds_each_ = 0;     ///< mean seconds of an evaluation, failures included
};

}  // namespace fatune
