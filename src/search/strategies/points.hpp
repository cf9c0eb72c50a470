// points.hpp - distances of points, and new ones: mutants, children, neighbours, a spread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/deck.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {

/// Sum over the axes: 1 for different words; 1/2 for different numbers plus 1/2 times their
/// difference in rank over the axis's length, so that neighbouring tile sizes are nearer than
/// distant ones.
double distance(const Lattice& space, const Point& a, const Point& b);

/// For each value of each axis that `from` has not: of the points with it, the nearest to `from`.
std::vector<Point> nearest_by_value(const Lattice& space, const Point& from,
                                    std::span<const Point> points);

/// Changes each axis with probability 1/d, at least one; a number goes one step up or down in 6 of
/// 10 cases, else to any other value. The result may be invalid: the caller looks it up in the
/// space.
Point mutate(const Lattice& space, const Point& point, Rng& rng);

/// Takes each axis from one parent or the other. The result may be invalid.
Point crossover(const Point& mother, const Point& father, Rng& rng);

/// The neighbours of a point that are still in the deck, as indices.
std::vector<std::uint64_t> untried_neighbours(const Lattice& space, const Deck& deck,
                                              const Point& point);
/// One of them at random, which leaves the deck; empty when there is none.
std::optional<std::uint64_t> take_untried_neighbour(const Lattice& space, Deck& deck,
                                                    const Point& point, Rng& rng);

/// The index, among `tries` random ones left in the deck, whose point is farthest from its nearest
/// in `known`. The deck must not be empty; nothing is taken from it.
std::uint64_t far_from(const Lattice& space, const std::vector<Point>& known, const Deck& deck,
                       int tries, Rng& rng);

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

/// The best points so far, and their children. `space` must outlive it.
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
