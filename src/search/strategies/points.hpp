// points.hpp: Declares sets of untried points, and distances, mutation, crossover and populations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {

/// A set of indices below `size`, drawn by an incremental Fisher-Yates shuffle. Memory grows with
/// the number of indices taken, not with `size`.
class UntriedSet {
 public:
  explicit UntriedSet(std::uint64_t size) : size_(size) {}

  std::uint64_t left() const { return size_ - taken_; }
  bool has(std::uint64_t index) const { return index < size_ && place_of(index) >= taken_; }
  /// Takes the index; false when it was taken before.
  bool take(std::uint64_t index) {
    if (!has(index)) return false;
    const std::uint64_t place = place_of(index);
    const std::uint64_t moved = index_at(taken_);
    indices_[place] = moved;
    places_[moved] = place;
    indices_[taken_] = index;
    places_[index] = taken_;
    ++taken_;
    return true;
  }
  /// Returns a random untried index without taking it. The set must not be empty.
  std::uint64_t peek(Rng& rng) const {
    FATUNE_CHECK(left() > 0, "an empty deck has no card to show");
    return index_at(taken_ + rng.below(left()));
  }
  /// Takes a random untried index. The set must not be empty.
  std::uint64_t draw(Rng& rng) {
    const std::uint64_t index = peek(rng);
    take(index);
    return index;
  }

 private:
  using Map = std::unordered_map<std::uint64_t, std::uint64_t>;
  static std::uint64_t in(const Map& map, std::uint64_t number) {
    const auto found = map.find(number);
    return found == map.end() ? number : found->second;
  }
  std::uint64_t index_at(std::uint64_t place) const { return in(indices_, place); }
  std::uint64_t place_of(std::uint64_t index) const { return in(places_, index); }

  std::uint64_t size_;
  std::uint64_t taken_ = 0;  ///< places below hold taken indices
  Map indices_, places_;  ///< the permutation and its inverse, where they differ from the identity
};

/// The valid start points, each once.
class StartPoints {
 public:
  StartPoints(const Lattice& space, const std::vector<Point>& points) {
    for (const Point& point : points) {
      const auto index = space.index_of(point);
      if (index && std::ranges::find(indices_, *index) == indices_.end())
        indices_.push_back(*index);
    }
  }

  const std::vector<std::uint64_t>& indices() const { return indices_; }

  /// Takes the next start point that is untried; empty when none is left.
  std::optional<std::uint64_t> next(UntriedSet& untried) {
    while (next_ < indices_.size()) {
      const std::uint64_t index = indices_[next_++];
      if (untried.take(index)) return index;
    }
    return std::nullopt;
  }

 private:
  std::vector<std::uint64_t> indices_;
  std::size_t next_ = 0;
};

/// Asks until the untried set is empty. `space` must outlive the strategy.
class UntriedSetStrategy : public Strategy {
 public:
  std::string_view name() const final { return name_; }
  std::vector<Point> ask(std::size_t count) final {
    std::vector<Point> asked;
    while (asked.size() < count && untried_.left() > 0) {
      asked.push_back(space_.point(next_index()));
      note_asked(asked.back());
    }
    return asked;
  }

 protected:
  UntriedSetStrategy(std::string_view name, const Lattice& space, const StrategyOptions& options)
      : space_(space), untried_(space.size()), rng_(options.seed), name_(name) {}

  /// Takes the next point from the untried set, which is not empty.
  virtual std::uint64_t next_index() = 0;
  virtual void note_asked(const Point& /*point*/) {}

  const Lattice& space_;
  UntriedSet untried_;
  Rng rng_;

 private:
  std::string_view name_;
};

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
