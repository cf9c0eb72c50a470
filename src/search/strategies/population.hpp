// population.hpp - the best points told so far, and the children that are bred from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/deck.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {

/// `space` must outlive it.
class Population {
 public:
  Population(const Lattice& space, const StrategyOptions& options)
      : space_(space), one_lever_(options.one_lever) {}

  static constexpr std::size_t kSize = 12;

  std::size_t size() const { return members_.size(); }
  /// By rank, the best first.
  const Point& member(std::size_t rank) const { return members_[rank].point; }
  /// Keeps it while it is among the best.
  void join(const Point& point, double cost);
  /// Only the best remain.
  void shrink(std::size_t size);

  /// A child of members won in tournaments: crossed over, mutated or both; with one lever,
  /// one of them with one axis changed. It may be invalid or known. There must be a member.
  Point breed(Rng& rng) const;
  /// An untried neighbour of one of the three best, mostly of the best, or else a valid and untried
  /// child; it leaves the deck. Empty when none is found. There must be a member.
  std::optional<std::uint64_t> child(Deck& deck, Rng& rng) const;

 private:
  struct Member {
    Point point;
    double cost;
  };
  const Point& win_tournament(Rng& rng) const;

  const Lattice& space_;
  bool one_lever_;
  std::vector<Member> members_;  ///< ascending cost
};

}  // namespace fatune
