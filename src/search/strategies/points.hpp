// points.hpp: Declares distances between points, mutation, crossover, spread and populations.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/strategy.hpp"
#include "search/strategies/untried_set.hpp"

namespace fatune {

/// Distance of two points, summed over the axes. Different words add 1. Different numbers add 1/2
/// plus half their rank difference over the axis's length, so that neighbouring tile sizes are
/// near.
double distance(const Lattice& space, const Point& a, const Point& b);

/// Returns, for each value that `from` lacks, the nearest to `from` of the `points` with the value.
std::vector<Point> nearest_by_value(const Lattice& space, const Point& from,
                                    std::span<const Point> points);

/// Changes each axis with probability 1/d, and at least one axis. A number moves one step up or
/// down in 6 of 10 cases, else to any other value. The result may be invalid.
Point mutate(const Lattice& space, const Point& point, Rng& rng);

/// Takes each axis from one parent or the other. The result may be invalid.
Point crossover(const Point& mother, const Point& father, Rng& rng);

/// Returns the indices of the point's untried neighbours.
std::vector<std::uint64_t> untried_neighbours(const Lattice& space, const UntriedSet& untried,
                                              const Point& point);
/// Takes a random untried neighbour; empty when the point has none.
std::optional<std::uint64_t> take_untried_neighbour(const Lattice& space, UntriedSet& untried,
                                                    const Point& point, Rng& rng);

/// Returns the index, among `tries` random untried ones, whose point is farthest from its nearest
/// point in `known`. The set must not be empty; nothing is taken from it.
std::uint64_t far_from(const Lattice& space, const std::vector<Point>& known,
                       const UntriedSet& untried, int tries, Rng& rng);

struct SpreadPlan {
  std::uint64_t points = 0;  ///< points before the search proper, start points included
  int tries = 0;  ///< random points of which the farthest is taken; large numbers favour corners
};

/// Chooses start points and points far from all earlier ones. `space` must outlive the spread.
class Spread {
 public:
  Spread(const Lattice& space, const StrategyOptions& options, const SpreadPlan& plan);

  bool wanted() const { return left_ > 0; }
  std::uint64_t left() const { return left_; }  ///< wanted points not chosen yet
  void want(std::uint64_t points) { left_ = points; }
  /// Records a point that the strategy asked for; must be called for every asked point.
  void keep_from(const Point& point);

  /// Takes the next start point; empty when none is left.
  std::optional<std::uint64_t> start(UntriedSet& untried);
  /// Takes a point far from the asked points. In one@weighted searches it is an untried neighbour
  /// of an asked point while one is left. The untried set must not be empty.
  std::uint64_t next(UntriedSet& untried, Rng& rng);

 private:
  std::optional<std::uint64_t> one_step(UntriedSet& untried, Rng& rng);

  const Lattice& space_;
  StartPoints start_;
  bool one_lever_;
  std::uint64_t left_;
  int tries_;
  std::vector<Point> asked_;
  /// Asked points that may have untried neighbours; only in one@weighted searches.
  std::vector<Point> edge_;
};

/// The best points so far and the operators that breed from them. `space` must outlive it.
class Population {
 public:
  Population(const Lattice& space, const StrategyOptions& options)
      : space_(space), one_lever_(options.one_lever) {}

  static constexpr std::size_t kSize = 12;

  std::size_t size() const { return members_.size(); }
  /// Returns the member of this rank; rank 0 is the best.
  const Point& member(std::size_t rank) const { return members_[rank].point; }
  /// Adds the point; the worst member beyond kSize leaves.
  void join(const Point& point, double cost);
  /// Keeps only the `size` best members.
  void shrink(std::size_t size);

  /// Returns a child of tournament winners: crossed, mutated or both. In one@weighted searches it
  /// is a member with one axis changed. The child may be invalid or known. The population must not
  /// be empty.
  Point breed(Rng& rng) const;
  /// Takes an untried neighbour of one of the three best, mostly of the best, else a valid untried
  /// child. Empty when none is found. The population must not be empty.
  std::optional<std::uint64_t> child(UntriedSet& untried, Rng& rng) const;

 private:
  struct Member {
    Point point;
    double cost;
  };
  const Point& win_tournament(Rng& rng) const;

  const Lattice& space_;
  bool one_lever_;
  std::vector<Member> members_;  ///< by ascending cost
};

}  // namespace fatune
