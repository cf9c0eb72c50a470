// deck.hpp - the untried set: drawn at random or taken by value, each at most once.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {

/// A Fisher-Yates shuffle done one card at a time: memory grows with the cards gone, not with n.
class Deck {
 public:
  explicit Deck(std::uint64_t size) : size_(size) {}

  std::uint64_t left() const { return size_ - gone_; }
  bool has(std::uint64_t card) const { return card < size_ && place_of(card) >= gone_; }
  /// False when the card is already gone.
  bool take(std::uint64_t card);
  /// A random card that is left, which stays. The deck must not be empty.
  std::uint64_t peek(Rng& rng) const;
  /// A random card that is left, which goes. The deck must not be empty.
  std::uint64_t draw(Rng& rng);

 private:
  std::uint64_t card_at(std::uint64_t place) const;
  std::uint64_t place_of(std::uint64_t card) const;

  std::uint64_t size_;
  std::uint64_t gone_ = 0;  ///< the cards at places below are gone
  std::unordered_map<std::uint64_t, std::uint64_t> cards_, places_;  ///< where they differ from n
};

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
