// score.hpp - a strategy on recorded data, many times over; how much better than random it is.
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

/// Costs of a whole space, less is better. A config without one failed. As long as a search has
/// seen nothing but failures, its best is the worst cost there is.
class Landscape {
 public:
  /// Fails when no config has a cost; `where` begins the message.
  static Result<Landscape> build(std::span<const std::optional<double>> costs,
                                 const std::string& where);

  const std::vector<double>& sorted() const { return sorted_; }  ///< ascending, failures left out
  std::uint64_t size() const { return size_; }                   ///< failures included
  std::uint64_t failures() const { return size_ - sorted_.size(); }
  double optimum() const { return sorted_.front(); }
  double worst() const { return sorted_.back(); }
  double median() const;

  /// Exactly what the best of t distinct random configs is on average, for t = 0 to `most` (at
  /// most the whole space): the sum over ranks of the chance that a hypergeometric draw misses all
  /// better ones, times the step in cost to that rank.
  std::vector<double> expected_best(std::uint64_t most) const;

  /// How much of the optimum is reached: 1 there, optimum / cost for times. Costs below zero are
  /// rates or scores with their sign turned, for which it is cost / optimum.
  double fraction_of_optimum(double cost) const;
  /// (cost - optimum) / |optimum|; the plain difference when the optimum is zero.
  double excess(double cost) const;

 private:
  std::vector<double> sorted_;
  std::uint64_t size_ = 0;
};

/// Of the slowest of several GPUs to the fastest: what four H200 of one host differed by, by the
/// times of one kernel.
inline constexpr double kGpuSpread = 0.009;

/// How often, how long, and how a strategy is run.
struct RunOptions {
  std::string strategy = {};
  std::size_t repeats = 100;
  std::uint64_t budget = 220;  ///< evaluations of a run, failures included; the strategy knows it
  /// A run then ends when what it evaluated took that long, and not by the budget.
  std::optional<double> most_seconds = {};
  std::size_t batch = 1;  ///< so many are in flight: asked for and not told yet
  std::size_t gpus = 1;   ///< that take candidates in turn and differ by kGpuSpread
  std::uint64_t seed = 42;
  bool one_lever = false;
  std::size_t jobs = 0;  ///< threads; 0: as many as the machine has cores
};

/// One run: indices into the lattice in the order in which they were told.
using Trace = std::vector<std::uint32_t>;

struct Runs {
  std::vector<Trace> traces;  ///< one a repeat
  double seconds = 0;         ///< of processor time in the strategy itself, over all repeats
};

/// The same for any number of threads: each repeat's seed comes from its number. `seconds` holds
/// what evaluating each config of the lattice takes; it may be empty without a limit of time. Fails
/// for an unknown strategy, and when it is interrupted.
Result<Runs> run_repeats(const Recording& recording, const std::vector<double>& seconds,
                         const RunOptions& options);

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

/// Where the score P begins: before, luck decides.
inline constexpr std::uint64_t kFirstScored = 10;
inline constexpr std::array<std::uint64_t, 4> kFractionsAt = {25, 50, 100, 220};
inline constexpr std::array<std::uint64_t, 2> kWithinAt = {100, 220};
inline constexpr double kWithin = 0.05;  ///< of the optimum
/// A tuner's promise for its own spaces: so near the optimum after a tenth of the space, or after
/// so many evaluations where that is more.
inline constexpr double kNear = 0.02;
inline constexpr std::uint64_t kNearShare = 10, kNearLeast = 60;
std::uint64_t near_at(const Landscape& landscape);

/// What random search is expected to have found, and for which numbers of evaluations it can be
/// beaten: from kFirstScored to the budget, or to one below the size of the space, where random
/// search finds the optimum too.
struct Yardstick {
  std::vector<double> expected;  ///< best of t random configs; index is t
  std::uint64_t first = 1, last = 0;
  bool scores() const { return first <= last; }  ///< else there is nothing to beat
};
Yardstick make_yardstick(const Landscape& landscape, std::uint64_t budget);

struct Score {
  std::size_t repeats = 0;
  /// Mean over t of (E[random best] - best) / (E[random best] - optimum): 0 is random search, 1 the
  /// optimum at once. Empty when the yardstick scores nothing.
  std::optional<Estimate> p;
  /// Mean fraction of the optimum after kFractionsAt evaluations; empty beyond the budget.
  std::array<std::optional<Estimate>, kFractionsAt.size()> at;
  /// Share of runs within kWithin of the optimum after kWithinAt evaluations.
  std::array<std::optional<Estimate>, kWithinAt.size()> within;
  /// Share of runs within kNear of the optimum after near_at() evaluations.
  std::optional<Estimate> near;
  /// The same where the budget ends.
  Estimate near_at_end;
  /// Mean of (best - optimum) / |optimum| after each number of evaluations, from 1 on.
  std::vector<Estimate> excess;
};

/// P of each run; the yardstick must score.
std::vector<double> scores_of(const std::vector<Trace>& traces, const Recording& recording,
                              const Landscape& landscape, const Yardstick& yardstick);

/// At least one run.
Score score_runs(const std::vector<Trace>& traces, const Recording& recording,
                 const Landscape& landscape, const Yardstick& yardstick, std::uint64_t budget);

/// The best cost after each number of evaluations up to `budget`, from 0 on; flat after the end.
std::vector<double> best_so_far(const Trace& trace, const Recording& recording,
                                const Landscape& landscape, std::uint64_t budget);

}  // namespace fatune
