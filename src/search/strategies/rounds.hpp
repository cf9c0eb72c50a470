// rounds.hpp: Declares the base of search methods that work in rounds, and neighbours.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/points.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {

/// Each function returns the index of a random neighbour of its kind, never `point` itself; empty
/// when there is none. Words are treated as ordered, as in Kernel Tuner. `space` must outlive it.
class Neighbourhood {
 public:
  explicit Neighbourhood(const Lattice& space);

  /// The neighbour differs in exactly one axis.
  std::optional<std::uint64_t> hamming(const Point& point, Rng& rng) const;
  /// The neighbour differs by at most one position in every axis.
  std::optional<std::uint64_t> strictly_adjacent(const Point& point, Rng& rng) const {
    return one_step_away(point, nullptr, rng);
  }
  /// Like strictly_adjacent(), but positions skip values that no valid point has.
  std::optional<std::uint64_t> adjacent(const Point& point, Rng& rng) {
    if (used_.empty()) find_used();
    return one_step_away(point, &used_, rng);
  }
  /// Returns the point of least difference in positions, summed over the axes. The space must hold
  /// another point than `point`.
  std::uint64_t closest(const Point& point, Rng& rng) const;

 private:
  /// Limits of a walk over the tree of axes: positions from `lower` to `upper`, at distance
  /// `radius` from the point, or at any distance without a radius.
  struct Bounds {
    Point lower, upper;
    std::optional<std::uint64_t> radius;
  };
  struct Walk;
  using Used = std::vector<std::vector<bool>>;

  std::optional<std::uint64_t> one_step_away(const Point& point, const Used* used, Rng& rng) const;
  std::optional<std::uint64_t> in_box(const Point& point, const Bounds& box, Rng& rng) const;
  void find_used();
  void descend(Walk& walk, std::size_t axis, std::uint64_t code, std::uint64_t left) const;

  const Lattice& space_;
  std::vector<std::uint64_t> weights_;  ///< weight of each axis in a code
  Used used_;                           ///< values that valid points have; filled on first use
};

inline constexpr double kFailedCost = std::numeric_limits<double>::infinity();

/// Base of a textbook method: a round names points, observes their costs, and leads to the next
/// round. A repeated point takes its known cost and spends no evaluation. A generational method
/// names a whole generation. A local search names the moves it would try, and ends the round at the
/// move it takes. While a round waits for costs, asks return look_ahead(), else untried neighbours
/// of the best point, else random points. So the search ends only when the space is exhausted.
/// `space` must outlive the method.
class Rounds : public UntriedSetStrategy {
 public:
  void tell(const EvaluatedPoint& told) final;

 protected:
  enum class Round { kGoesOn, kIsOver };

  Rounds(std::string_view name, const Lattice& space, const StrategyOptions& options);

  /// Returns the indices whose costs the method needs next, in the order of observe(). At least
  /// one.
  virtual std::vector<std::uint64_t> begin_round() = 0;
  /// Observes a cost, kFailedCost for a failure. kIsOver drops the rest of the round.
  virtual Round observe(std::uint64_t index, double cost) = 0;
  /// Returns one more point of the present round, useful if no earlier point ends the round; empty
  /// when the method needs costs first.
  virtual std::optional<std::uint64_t> look_ahead() { return std::nullopt; }
  /// Restarts a method that repeats itself: the next round must name an untried point.
  virtual void restart() = 0;

  /// Returns up to `count` different random points, at least one; untried points while any are
  /// left. The points of `first` replace the first ones.
  std::vector<std::uint64_t> sample(std::size_t count, std::vector<std::uint64_t> first = {});
  std::uint64_t fresh();  ///< one random point, untried if any is left
  std::uint64_t told() const { return known_.size(); }  ///< different points told

  Neighbourhood near_;
  std::vector<std::uint64_t> start_;  ///< valid start points, each once

 private:
  std::uint64_t next_index() final;
  void observe_known_costs();
  void next_round();
  std::uint64_t neighbour_of_best();

  StartPoints given_;
  Rng neighbour_rng_;
  std::vector<std::uint64_t> round_;
  std::size_t observed_ = 0;  ///< points of the round that were observed
  std::unordered_map<std::uint64_t, double> known_;
  std::optional<std::uint64_t> best_index_;
  double least_ = kFailedCost;
};

}  // namespace fatune
