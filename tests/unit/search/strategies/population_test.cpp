// population_test.cpp: Tests the members of a population and its children.
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "sample_lattice.hpp"
#include "search/strategies/points.hpp"

namespace fatune {
namespace {

using test::lattice_of;

int axes_changed(const Point& a, const Point& b) {
  int changed = 0;
  for (std::size_t i = 0; i < a.size(); ++i) changed += a[i] != b[i];
  return changed;
}

TEST_CASE("a population keeps the best, the best first") {
  const Lattice space = lattice_of({30});
  Population population(space, {});
  for (std::uint16_t i = 0; i < 30; ++i) {
    const auto place = static_cast<std::uint16_t>(i * 7 % 30);
    population.join({place}, place);
  }
  REQUIRE(population.size() == Population::kSize);
  for (std::uint16_t rank = 0; rank < Population::kSize; ++rank) {
    CHECK(population.member(rank) == Point{rank});
  }
  population.shrink(4);
  CHECK(population.size() == 4);
  population.shrink(9);
  CHECK(population.size() == 4);
}

TEST_CASE("children are taken until none is left to be bred") {
  const Lattice space = lattice_of({3, 3});
  UntriedSet untried(space.size());
  Rng rng(2);
  Population population(space, {});
  population.join({1, 1}, 1);
  std::set<std::uint64_t> born;
  while (const auto index = population.child(untried, rng)) {
    CHECK_FALSE(untried.has(*index));
    CHECK(born.insert(*index).second);
  }
  CHECK(born.size() >= 8);
}

TEST_CASE("with one lever every child differs from a member in one axis") {
  const Lattice space = lattice_of({5, 4, 1, 3});
  Rng rng(3);
  Population population(space, {.one_lever = true});
  population.join({0, 0, 0, 0}, 1);
  population.join({4, 3, 0, 2}, 2);
  for (int i = 0; i < 200; ++i) {
    const Point child = population.breed(rng);
    const bool one_away = axes_changed(child, population.member(0)) == 1 ||
                          axes_changed(child, population.member(1)) == 1;
    CHECK(one_away);
  }
}

}  // namespace
}  // namespace fatune
