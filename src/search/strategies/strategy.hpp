// strategy.hpp: Declares the ask / tell interface that every search strategy implements.
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

/// The cost of a point that the strategy asked for. A lower cost is better; a failure has no cost.
struct EvaluatedPoint {
  Point point;
  std::optional<double>
      cost;                ///< microseconds, or another objective converted so that less is better
  bool duplicate = false;  ///< same machine code as an earlier point, whose cost is repeated here
};

/// Chooses the points to evaluate. A strategy is deterministic: equal seed, space and tells give
/// equal asks. It never proposes a point twice.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// Returns up to `count` new points, which may be untold yet; empty when the space is exhausted.
  virtual std::vector<Point> ask(std::size_t count) = 0;
  virtual void tell(const EvaluatedPoint& told) = 0;
  /// Returns the largest useful number of points in flight, at least 1. Points beyond this number
  /// would be chosen from too few observations.
  virtual std::size_t most_in_flight() const { return std::numeric_limits<std::size_t>::max(); }
  /// Returns at most `count` points that ask() will probably return soon, likeliest first, for
  /// speculative compilation. The call changes no later ask.
  virtual std::vector<Point> likely(std::size_t /*count*/) const { return {}; }
};

/// Which resource limits the run. If evaluations are scarce, each point should use all earlier
/// results. If time is scarce, compilers and device should not wait for results.
enum class Scarce { kEvaluations, kTime };

struct StrategyOptions {
  std::uint64_t seed = 42;
  std::uint64_t budget = 150;  ///< evaluations that the run may use; sets population sizes
  Scarce scarce = Scarce::kEvaluations;
  std::vector<Point> start = {};  ///< points tried first: the default config and known-good ones
  /// Each new point differs in exactly one axis from an earlier point, while such a point is left.
  bool one_lever = false;
};

/// A name that make_strategy() accepts, and its line of help.
struct StrategyInfo {
  std::string_view name, summary;
  bool keeps_one_lever = false;  ///< honours StrategyOptions::one_lever; other strategies ignore it
};
std::vector<StrategyInfo> strategies();
/// Makes the strategy; `space` must outlive it. For an unknown name the usage error suggests the
/// nearest known name.
Result<std::unique_ptr<Strategy>> make_strategy(std::string_view name, const Lattice& space,
                                                const StrategyOptions& options);

// The strategies that learn from observations:

/// Bayesian optimisation, the default: see docs/search.md. A space within the budget is tried
/// completely, in the order of expected improvement.
std::unique_ptr<Strategy> make_evo(const Lattice& space, const StrategyOptions& options);

/// Steady-state genetic algorithm. It tries the start points, then points far from one another,
/// then children of the twelve best points. Children come from tournament selection, crossover and
/// mutation, or from single-axis moves around the three best. After 40 evaluations without
/// progress, all but the four best are replaced by distant points. A space within the budget is
/// tried completely.
std::unique_ptr<Strategy> make_ga(const Lattice& space, const StrategyOptions& options);

/// Generational genetic algorithm with 26 members; the first generation is random. Two parents of
/// different rank, drawn by Beta(1, 2.5), are crossed at one point. An invalid child is replaced by
/// a strictly adjacent neighbour, else an adjacent one, else a Hamming neighbour. One child in 55
/// moves to a Hamming neighbour. After 90 generations Kernel Tuner stops; this strategy restarts.
std::unique_ptr<Strategy> make_kt_ga(const Lattice& space, const StrategyOptions& options);

/// Iterated local search. The climb looks at Hamming neighbours in random order of axes and values,
/// and moves to the first better one, until none is better. Then a random walk over three axes in
/// ten begins a new climb. After 50 climbs in a row without a new best, the next climb begins at a
/// random point. The settings are Kernel Tuner 1.4's. Its own greedy_ils jumps after each single
/// improvement, and its neighbours accumulate changes along the axes.
std::unique_ptr<Strategy> make_ils(const Lattice& space, const StrategyOptions& options);

/// Simulated annealing. A step visits Hamming neighbours, one for each axis with probability 1/5,
/// and then an adjacent point. A better point is always accepted, and a point worse by a share s
/// with probability exp(-s / T). T is 0.1 * 0.9975^(3680 n / budget) after n points. At T = 0.0001,
/// three quarters of the budget, Kernel Tuner stops. This strategy restarts at a random point then,
/// and after 100 steps in a row to known points.
std::unique_ptr<Strategy> make_annealing(const Lattice& space, const StrategyOptions& options);

/// Differential evolution, best1bin. The population has 16 members for each axis of more than one
/// value, at most half the space, from a Latin hypercube. A trial takes six axes in ten from the
/// best point plus 0.7 times the difference of two other members. Positions are rounded; an invalid
/// trial becomes the closest valid point. A trial that is no worse than its member replaces the
/// member. After three generations without change, all further ones are Latin hypercubes.
std::unique_ptr<Strategy> make_de(const Lattice& space, const StrategyOptions& options);

/// Particle swarm optimisation with 50 particles, at most half the space, that start at random
/// valid points. A particle keeps half its velocity. It is drawn to its own best point by up to 3.5
/// times the distance, and to the swarm's best by up to 1. A particle is evaluated at the nearest
/// position of each axis; an invalid point counts as a failure and costs no evaluation. After 190
/// moves Kernel Tuner stops; this strategy restarts.
std::unique_ptr<Strategy> make_pso(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
