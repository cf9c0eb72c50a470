// untried_set_test.cpp: Tests draws without replacement and the random numbers.
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "search/strategies/points.hpp"

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

TEST_CASE("an untried set gives every index once") {
  UntriedSet untried(100);
  Rng rng(3);
  std::set<std::uint64_t> drawn;
  while (untried.left() > 0) drawn.insert(untried.draw(rng));
  CHECK(drawn.size() == 100);
  CHECK(*drawn.rbegin() == 99);
}

TEST_CASE("an index taken by value is not drawn again") {
  UntriedSet untried(50);
  Rng rng(5);
  CHECK(untried.take(17));
  CHECK_FALSE(untried.take(17));
  CHECK_FALSE(untried.has(17));
  CHECK_FALSE(untried.take(50));
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 20; ++i) drawn.insert(untried.draw(rng));
  for (std::uint64_t index = 0; index < 50; ++index) {
    CHECK(untried.has(index) == (index != 17 && !drawn.contains(index)));
    if (untried.has(index) && index % 2 == 0) CHECK(untried.take(index));
  }
  while (untried.left() > 0) CHECK(drawn.insert(untried.draw(rng)).second);
  CHECK_FALSE(drawn.contains(17));
}

TEST_CASE("peeking into a huge set takes nothing and costs nothing") {
  UntriedSet untried(1ULL << 40U);
  Rng rng(9);
  const std::uint64_t shown = untried.peek(rng);
  CHECK(untried.has(shown));
  CHECK(untried.left() == 1ULL << 40U);
}

}  // namespace
}  // namespace fatune
