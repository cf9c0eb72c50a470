// score.hpp: Runs strategies repeatedly on recorded data and scores them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {

/// The costs of a whole space; lower is better. A config without cost failed. The best of a run
/// with only failures is the largest cost.
class Landscape {
 public:
  /// Fails if no config has a cost; `where` begins the message.
  static Result<Landscape> build(std::span<const std::optional<double>> costs,
                                 const std::string& where);

  const std::vector<double>& sorted() const { return sorted_; }  ///< ascending, without failures
  std::uint64_t size() const { return size_; }                   ///< with failures
  std::uint64_t failures() const { return size_ - sorted_.size(); }
  double optimum() const { return sorted_.front(); }
  double worst() const { return sorted_.back(); }
  double median() const;

  /// Returns the exact expected best of t distinct random configs, for t = 0 to `most`, at most the
  /// whole space. It sums, over ranks, the step in cost times the hypergeometric probability that
  /// the draws miss all better ranks.
  std::vector<double> expected_best(std::uint64_t most) const;

  /// Returns optimum / cost for times; 1 is the optimum. Negative costs are rates or scores with
  /// inverted sign, for which it returns cost / optimum.
  double fraction_of_optimum(double cost) const;
  /// Returns (cost - optimum) / |optimum|; the plain difference if the optimum is zero.
  double excess(double cost) const;

 private:
  std::vector<double> sorted_;
  std::uint64_t size_ = 0;
};

/// Relative difference of the slowest and the fastest GPU, measured on four H200 of one host with
/// one kernel.
inline constexpr double kGpuSpread = 0.009;

/// Number, length and mode of a strategy's runs.
struct RunOptions {
  std::string strategy = {};
  std::size_t repeats = 100;
  std::uint64_t budget = 220;  ///< evaluations of a run, failures included; known to the strategy
  /// Ends a run by the evaluation time in seconds instead of the budget.
  std::optional<double> most_seconds = {};
  std::size_t batch = 1;  ///< points in flight: asked and not yet told
  std::size_t gpus = 1;   ///< GPUs that take candidates in turn and differ by kGpuSpread
  std::uint64_t seed = 42;
  bool one_lever = false;
  std::size_t jobs = 0;  ///< threads; 0: one per core
};

/// One run: lattice indices in the order of tell().
using Trace = std::vector<std::uint32_t>;

struct Runs {
  std::vector<Trace> traces;  ///< one per repeat
  double seconds = 0;         ///< processor time of the strategy over all repeats
};

/// Runs are independent of the number of threads, because each repeat derives its own seed.
/// `seconds` has the evaluation time of each config; it may be empty without a time limit. Fails
/// for an unknown strategy and on interruption.
Result<Runs> run_repeats(const Recording& recording, const std::vector<double>& seconds,
                         const RunOptions& options);

/// A value and its interval.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// Returns the mean with a percentile bootstrap interval. `samples` must not be empty. The seed
/// makes the result deterministic.
Estimate mean_estimate(std::span<const double> samples, std::uint64_t seed);
/// Standard error of the mean; zero for fewer than two samples.
double standard_error(std::span<const double> samples);
/// Returns hits / trials with Wilson's interval (1927), which stays within [0, 1] and is useful
/// even if all or none hit. At least one trial.
Estimate share_estimate(std::uint64_t hits, std::uint64_t trials);

/// First evaluation that the score P uses; earlier ones are decided by luck.
inline constexpr std::uint64_t kFirstScored = 10;
inline constexpr std::array<std::uint64_t, 4> kFractionsAt = {25, 50, 100, 220};
inline constexpr std::array<std::uint64_t, 2> kWithinAt = {100, 220};
inline constexpr double kWithin = 0.05;  ///< relative distance from the optimum
/// Relative distance from the optimum that is checked after a tenth of the space, or after
/// kNearLeast evaluations if that is more.
inline constexpr double kNear = 0.02;
inline constexpr std::uint64_t kNearShare = 10, kNearLeast = 60;
std::uint64_t near_at(const Landscape& landscape);

/// The expected costs of random search, and the range of evaluations in which it can be beaten. The
/// range is kFirstScored to the budget, or to one below the space's size, where random search has
/// the optimum too.
struct Yardstick {
  std::vector<double> expected;  ///< expected best of t random configs, by t
  std::uint64_t first = 1, last = 0;
  bool scores() const { return first <= last; }  ///< false if no evaluation can be scored
};
Yardstick make_yardstick(const Landscape& landscape, std::uint64_t budget);

struct Score {
  std::size_t repeats = 0;
  /// Mean over t of (E[random best] - best) / (E[random best] - optimum). 0 is random search, 1 is
  /// the optimum at once. Empty if the yardstick scores nothing.
  std::optional<Estimate> p;
  /// Mean fraction of the optimum after kFractionsAt evaluations; empty beyond the budget.
  std::array<std::optional<Estimate>, kFractionsAt.size()> at;
  /// Share of runs within kWithin of the optimum after kWithinAt evaluations.
  std::array<std::optional<Estimate>, kWithinAt.size()> within;
  /// Share of runs within kNear of the optimum after near_at() evaluations.
  std::optional<Estimate> near;
  /// Share of runs within kNear of the optimum at the end of the budget.
  Estimate near_at_end;
  /// Mean of (best - optimum) / |optimum| after each number of evaluations, from 1 on.
  std::vector<Estimate> excess;
};

/// Returns P of each run; the yardstick must score.
std::vector<double> scores_of(const std::vector<Trace>& traces, const Recording& recording,
                              const Landscape& landscape, const Yardstick& yardstick);

/// `traces` must not be empty.
Score score_runs(const std::vector<Trace>& traces, const Recording& recording,
                 const Landscape& landscape, const Yardstick& yardstick, std::uint64_t budget);

/// Returns the best cost after 0 to `budget` evaluations; constant after the end of the trace.
std::vector<double> best_so_far(const Trace& trace, const Recording& recording,
                                const Landscape& landscape, std::uint64_t budget);

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
