// strategy.hpp - the ask / tell interface of every search.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/space/lattice.hpp"

namespace fatune {

/// An observation: the cost of a point that the strategy asked for. Lower cost is better; a failure
/// has none.
struct Told {
  Point point;
  std::optional<double> cost;  ///< microseconds, or another objective turned so that less is better
  bool duplicate = false;      ///< same machine code as an earlier point, whose cost is repeated
};

/// Decides what to try next. Deterministic: the same seed, space and tells give the same asks.
/// Never proposes a point twice.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// Up to `count` new points, not necessarily told yet; empty when the space is exhausted.
  virtual std::vector<Point> ask(std::size_t count) = 0;
  virtual void tell(const Told& told) = 0;
  /// Max. useful number of points in flight, at least 1; further points would be chosen with too
  /// few observations.
  virtual std::size_t most_in_flight() const { return std::numeric_limits<std::size_t>::max(); }
  /// At most `count` new points that are likely to be asked soon, the likeliest first, for
  /// speculative compilation. A guess that changes no later ask; may be empty.
  virtual std::vector<Point> likely(std::size_t /*count*/) const { return {}; }
};

/// What a run has little of. With few evaluations each should know the results of those before it;
/// with little time compilers and device should not wait for results.
enum class Scarce { kEvaluations, kTime };

struct StrategyOptions {
  std::uint64_t seed = 42;
  std::uint64_t budget = 150;  ///< evaluations the run may use; shapes populations
  Scarce scarce = Scarce::kEvaluations;
  std::vector<Point> start = {};  ///< tried first: default config, known-good ones
  /// Each new point differs in exactly one axis from one asked before, while there is such a point.
  bool one_lever = false;
};

/// Names that make_strategy() knows, with one line of explanation each, in the order of the help
/// text.
struct StrategyInfo {
  std::string_view name, summary;
  bool keeps_one_lever = false;  ///< knows StrategyOptions::one_lever; the others ignore it
};
std::vector<StrategyInfo> strategies();
/// `space` must outlive the strategy. An unknown name is a usage error with the nearest known one.
Result<std::unique_ptr<Strategy>> make_strategy(std::string_view name, const Lattice& space,
                                                const StrategyOptions& options);

// What it makes, but for the two that learn nothing.

/// The default: see docs/search.md. A space that fits the budget is tried whole, the promising
/// first.
std::unique_ptr<Strategy> make_evo(const Lattice& space, const StrategyOptions& options);

/// Start points, then points far from one another, then children of the twelve best told so far:
/// crossover and mutation of parents won in tournaments, and single-axis moves around the three
/// best. Without progress for 40 evaluations, all but the four best make room for distant points. A
/// space that fits the budget is tried whole.
std::unique_ptr<Strategy> make_ga(const Lattice& space, const StrategyOptions& options);

/// Generations of 26, the first at random. Each next one is bred whole from the one before, without
/// survivors: two parents of different rank, drawn by Beta(1, 2.5), are crossed at one point; a
/// child that is not valid becomes a strictly adjacent, else an adjacent, else a Hamming neighbour
/// of itself; one child in 55 moves to a Hamming neighbour. After 90 generations Kernel Tuner
/// stops; this starts anew.
std::unique_ptr<Strategy> make_kt_ga(const Lattice& space, const StrategyOptions& options);

/// From a point it looks at the Hamming neighbours, axes and values in random order, and moves to
/// the first that is better, until none is. Then it walks at random over three axes in ten, and
/// climbs again; after 50 climbs in a row without a new best, it goes on from a random point. The
/// settings are Kernel Tuner 1.4's. Its own greedy_ils differs in two ways: it jumps after each
/// single improvement, and its neighbours pile up changes along the axes.
std::unique_ptr<Strategy> make_ils(const Lattice& space, const StrategyOptions& options);

/// A step goes over Hamming neighbours, for each axis one with probability 1/5, and then to an
/// adjacent point. A better point is always taken, one worse by a share s with probability
/// exp(-s / T). T falls from 0.1 with the points tried, as 0.9975^(3680 n / budget), to 0.0001: at
/// three quarters of the budget, where Kernel Tuner stops and this starts anew from a random point.
/// So it does after 100 steps in a row to points it knew.
std::unique_ptr<Strategy> make_annealing(const Lattice& space, const StrategyOptions& options);

/// best1bin: a population of 16 for each axis of more than one value, at most half the space, from
/// a Latin hypercube. For each member the best so far, moved by 0.7 times the difference of two
/// others, gives six axes in ten of a trial; positions are rounded, and a trial that is not valid
/// becomes the closest valid point. A trial no worse than its member replaces it. Once three
/// generations have changed nothing, all further ones are Latin hypercubes.
std::unique_ptr<Strategy> make_de(const Lattice& space, const StrategyOptions& options);

/// 50 particles, at most half the space, from valid points at random. Each keeps half its velocity
/// and is drawn, by up to 3.5 times the distance, to its own best point and, by up to 1, to the
/// best of all; it is measured at the nearest position of each axis, and a place that is not valid
/// counts as a failure and costs nothing. After 190 moves Kernel Tuner stops; this starts anew.
std::unique_ptr<Strategy> make_pso(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
