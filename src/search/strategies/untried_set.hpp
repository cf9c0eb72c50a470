// untried_set.hpp: Holds the set of untried points, and the base of strategies that ask from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
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

}  // namespace fatune
