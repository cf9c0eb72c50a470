// start.hpp - the start points of a search, as indices, without invalid and repeated ones.
#pragma once

#include <optional>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/deck.hpp"

namespace fatune {

class StartPoints {
 public:
  StartPoints(const Lattice& space, const std::vector<Point>& points) {
    for (const Point& point : points) {
      if (const auto index = space.index_of(point)) indices_.push_back(*index);
    }
  }

  /// The next one that is still in the deck, which it leaves; empty when there is none.
  std::optional<std::uint64_t> next(Deck& deck) {
    while (next_ < indices_.size()) {
      const std::uint64_t index = indices_[next_++];
      if (deck.take(index)) return index;
    }
    return std::nullopt;
  }

 private:
  std::vector<std::uint64_t> indices_;
  std::size_t next_ = 0;
};

}  // namespace fatune
