// score.hpp - the runs of a strategy to how much better than random search it is, with intervals.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/replay/landscape.hpp"
#include "search/replay/runs.hpp"

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
