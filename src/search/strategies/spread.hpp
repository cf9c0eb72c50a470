// spread.hpp - points chosen without a model: the start points, then points far from all asked
// before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/deck.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/start.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {

struct SpreadPlan {
  std::uint64_t points = 0;  ///< wanted first, the start points among them
  int tries = 0;             ///< random points of which the farthest is taken; many favour corners
};

/// `space` must outlive it.
class Spread {
 public:
  Spread(const Lattice& space, const StrategyOptions& options, const SpreadPlan& plan);

  bool wanted() const { return left_ > 0; }
  std::uint64_t left() const { return left_; }  ///< of those wanted
  void want(std::uint64_t points) { left_ = points; }
  /// Must be called for every point that was asked, from here or not.
  void keep_from(const Point& point);

  /// The next start point, while there is one; it leaves the deck.
  std::optional<std::uint64_t> start(Deck& deck);
  /// A point far from those asked; with one lever, an untried neighbour of one of them while any
  /// has one. It leaves the deck, which must not be empty.
  std::uint64_t next(Deck& deck, Rng& rng);

 private:
  std::optional<std::uint64_t> one_step(Deck& deck, Rng& rng);

  const Lattice& space_;
  StartPoints start_;
  bool one_lever_;
  std::uint64_t left_;
  int tries_;
  std::vector<Point> asked_;
  /// In one-lever searches: points asked that may have untried neighbours.
  std::vector<Point> edge_;
};

}  // namespace fatune
