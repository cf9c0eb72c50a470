// deck.hpp - the untried set, drawn at random or taken by value, and a strategy that asks from it.
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

/// A Fisher-Yates shuffle done one card at a time: memory grows with the cards gone, not with n.
class Deck {
 public:
  explicit Deck(std::uint64_t size) : size_(size) {}

  std::uint64_t left() const { return size_ - gone_; }
  bool has(std::uint64_t card) const { return card < size_ && place_of(card) >= gone_; }
  /// False when the card is already gone.
  bool take(std::uint64_t card) {
    if (!has(card)) return false;
    const std::uint64_t place = place_of(card);
    const std::uint64_t moved = card_at(gone_);
    cards_[place] = moved;
    places_[moved] = place;
    cards_[gone_] = card;
    places_[card] = gone_;
    ++gone_;
    return true;
  }
  /// A random card that is left, which stays. The deck must not be empty.
  std::uint64_t peek(Rng& rng) const {
    FATUNE_CHECK(left() > 0, "an empty deck has no card to show");
    return card_at(gone_ + rng.below(left()));
  }
  /// A random card that is left, which goes. The deck must not be empty.
  std::uint64_t draw(Rng& rng) {
    const std::uint64_t card = peek(rng);
    take(card);
    return card;
  }

 private:
  using Map = std::unordered_map<std::uint64_t, std::uint64_t>;
  static std::uint64_t in(const Map& map, std::uint64_t number) {
    const auto found = map.find(number);
    return found == map.end() ? number : found->second;
  }
  std::uint64_t card_at(std::uint64_t place) const { return in(cards_, place); }
  std::uint64_t place_of(std::uint64_t card) const { return in(places_, card); }

  std::uint64_t size_;
  std::uint64_t gone_ = 0;  ///< the cards at places below are gone
  Map cards_, places_;      ///< where they differ from n
};

/// The valid ones of some points, each once.
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

/// Asks until the deck is empty. `space` must outlive it.
class DeckStrategy : public Strategy {
 public:
  std::string_view name() const final { return name_; }
  std::vector<Point> ask(std::size_t count) final {
    std::vector<Point> asked;
    while (asked.size() < count && deck_.left() > 0) {
      asked.push_back(space_.point(next_index()));
      note_asked(asked.back());
    }
    return asked;
  }

 protected:
  DeckStrategy(std::string_view name, const Lattice& space, const StrategyOptions& options)
      : space_(space), deck_(space.size()), rng_(options.seed), name_(name) {}

  /// Takes the next point from the deck, which is not empty.
  virtual std::uint64_t next_index() = 0;
  virtual void note_asked(const Point& /*point*/) {}

  const Lattice& space_;
  Deck deck_;  ///< the points not asked yet
  Rng rng_;

 private:
  std::string_view name_;
};

}  // namespace fatune
