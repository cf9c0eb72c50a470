// rounds.hpp - a search method that works in rounds of points, behind the ask / tell interface.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/deck.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {

inline constexpr double kFailedCost = std::numeric_limits<double>::infinity();

/// A search that returns to an observed point reads its cost here and spends no evaluation. `space`
/// must outlive it.
class Memory {
 public:
  explicit Memory(const Lattice& space) : space_(space), deck_(space.size()) {}

  const Lattice& space() const { return space_; }
  /// The points not asked yet.
  Deck& deck() { return deck_; }

  void tell(std::uint64_t index, std::optional<double> cost);
  /// kFailedCost for a failure; empty before it is told.
  std::optional<double> cost(std::uint64_t index) const;
  std::uint64_t told() const { return costs_.size(); }
  /// The point of least cost; empty before the first success.
  std::optional<std::uint64_t> best() const { return best_; }

  /// Up to `count` different points, at least one, at random: points not asked yet as long as there
  /// are any; `first` in the place of the first. The space must not be empty.
  std::vector<std::uint64_t> sample(std::size_t count, Rng& rng,
                                    std::vector<std::uint64_t> first = {}) const;
  std::uint64_t fresh(Rng& rng) const;  ///< one of them

 private:
  const Lattice& space_;
  Deck deck_;
  std::unordered_map<std::uint64_t, double> costs_;
  std::optional<std::uint64_t> best_;
  double best_cost_ = kFailedCost;
};

/// A textbook search in rounds: names points, is told their costs, names the next. It may repeat
/// points. A generational method names a whole generation; a local search names the moves it would
/// try, and ends the round at the one it takes.
class Method {
 public:
  enum class Round { kGoesOn, kIsOver };

  virtual ~Method() = default;
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
};

/// What every method is made from. `start`: valid points to begin with, as indices.
struct MethodInput {
  const Memory& memory;
  std::vector<std::uint64_t> start;
  std::uint64_t seed;
  std::uint64_t budget;
};
using MakeMethod = std::unique_ptr<Method> (*)(const MethodInput&);
template <typename Of>
std::unique_ptr<Method> make_method(const MethodInput& input) {
  return std::make_unique<Of>(input);
}

/// Asks for each point once: the cost of a repeated point comes from memory. While a round waits
/// for results, further asks are answered by look_ahead(), else with untried neighbours of the best
/// point so far, else at random; so the search ends only with the space. `space` must outlive it.
std::unique_ptr<Strategy> make_rounds(std::string_view name, const Lattice& space,
                                      const StrategyOptions& options, MakeMethod make);

}  // namespace fatune
