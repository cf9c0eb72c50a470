// deck_test.cpp - drawing without replacement, and numbers that are the same everywhere.
#include "search/strategies/deck.hpp"

#include <set>

#include <catch2/catch_test_macros.hpp>

namespace fatune {
namespace {

TEST_CASE("random numbers are the published ones of SplitMix64") {
  Rng rng(1234567);
  CHECK(rng.next() == 6457827717110365317ULL);
  CHECK(rng.next() == 3203168211198807973ULL);
  CHECK(rng.next() == 9817491932198370423ULL);
}

TEST_CASE("random numbers stay below their bound and reach every value") {
  Rng rng(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(rng.below(7));
  CHECK(seen.size() == 7);
  CHECK(*seen.rbegin() == 6);
  for (int i = 0; i < 200; ++i) {
    const double unit = rng.unit();
    CHECK((unit >= 0 && unit < 1));
  }
}

TEST_CASE("a deck gives every card once") {
  Deck deck(100);
  Rng rng(3);
  std::set<std::uint64_t> drawn;
  while (deck.left() > 0) drawn.insert(deck.draw(rng));
  CHECK(drawn.size() == 100);
  CHECK(*drawn.rbegin() == 99);
}

TEST_CASE("a card taken by name is not drawn again") {
  Deck deck(50);
  Rng rng(5);
  CHECK(deck.take(17));
  CHECK_FALSE(deck.take(17));
  CHECK_FALSE(deck.has(17));
  CHECK_FALSE(deck.take(50));
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 20; ++i) drawn.insert(deck.draw(rng));
  for (std::uint64_t card = 0; card < 50; ++card) {
    CHECK(deck.has(card) == (card != 17 && !drawn.contains(card)));
    if (deck.has(card) && card % 2 == 0) CHECK(deck.take(card));
  }
  while (deck.left() > 0) CHECK(drawn.insert(deck.draw(rng)).second);
  CHECK_FALSE(drawn.contains(17));
}

TEST_CASE("showing a card of a huge deck takes nothing and costs nothing") {
  Deck deck(1ULL << 40U);
  Rng rng(9);
  const std::uint64_t shown = deck.peek(rng);
  CHECK(deck.has(shown));
  CHECK(deck.left() == 1ULL << 40U);
}

}  // namespace
}  // namespace fatune
