// rounds.hpp: Declares the base of search methods that work in rounds of points.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "search/strategies/neighbourhood.hpp"
#include "search/strategies/strategy.hpp"
#include "search/strategies/untried_set.hpp"

namespace fatune {

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
