// deck.cpp - the lazy shuffle behind drawing without replacement.
#include "search/strategies/deck.hpp"

namespace fatune {

std::uint64_t Deck::card_at(std::uint64_t place) const {
  const auto found = cards_.find(place);
  return found == cards_.end() ? place : found->second;
}

std::uint64_t Deck::place_of(std::uint64_t card) const {
  const auto found = places_.find(card);
  return found == places_.end() ? card : found->second;
}

bool Deck::take(std::uint64_t card) {
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

std::uint64_t Deck::peek(Rng& rng) const {
  FATUNE_CHECK(left() > 0, "an empty deck has no card to show");
  return card_at(gone_ + rng.below(left()));
}

std::uint64_t Deck::draw(Rng& rng) {
  const std::uint64_t card = peek(rng);
  take(card);
  return card;
}

}  // namespace fatune
