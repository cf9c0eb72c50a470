// rounds.hpp - a search method that works in rounds of points, behind the ask / tell interface.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "search/strategies/deck.hpp"
#include "search/strategies/neighbourhood.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {

inline constexpr double kFailedCost = std::numeric_limits<double>::infinity();

/// A textbook search in rounds: names points, is told their costs, names the next. It may repeat
/// points: the cost of a repeated one comes from memory, and spends no evaluation. A generational
/// method names a whole generation; a local search names the moves it would try, and ends the round
/// at the one it takes. While a round waits for results, further asks are answered by look_ahead(),
/// else with untried neighbours of the best point so far, else at random; so the search ends only
/// with the space. `space` must outlive it.
class Rounds : public DeckStrategy {
 public:
  void tell(const Told& told) final;

 protected:
  enum class Round { kGoesOn, kIsOver };

  Rounds(std::string_view name, const Lattice& space, const StrategyOptions& options);

  /// The points whose costs it needs next, as indices, in the order in which hear() gives them. At
  /// least one.
  virtual std::vector<std::uint64_t> begin_round() = 0;
  /// kFailedCost for a failure. kIsOver drops the rest of the round.
  virtual Round hear(std::uint64_t index, double cost) = 0;
  /// One more point of the present round, of use if nothing before it ends the round; empty when
  /// the method needs more costs first.
  virtual std::optional<std::uint64_t> look_ahead() { return std::nullopt; }
  /// The method repeats itself: the next round must name an untried point.
  virtual void restart() = 0;

  /// Up to `count` different points, at least one, at random: points not asked yet as long as there
  /// are any; `first` in the place of the first.
  std::vector<std::uint64_t> sample(std::size_t count, std::vector<std::uint64_t> first = {});
  std::uint64_t fresh();                                ///< one of them
  std::uint64_t told() const { return known_.size(); }  ///< different points

  Neighbourhood near_;
  std::vector<std::uint64_t> start_;  ///< valid points to begin with, each once

 private:
  std::uint64_t next_index() final;
  void hear_what_is_told();
  void next_round();
  std::uint64_t beside_the_best();

  StartPoints given_;
  Rng beside_rng_;
  std::vector<std::uint64_t> round_;
  std::size_t heard_ = 0;  ///< of the round's points
  std::unordered_map<std::uint64_t, double> known_;
  std::optional<std::uint64_t> best_index_;
  double least_ = kFailedCost;
};

}  // namespace fatune
