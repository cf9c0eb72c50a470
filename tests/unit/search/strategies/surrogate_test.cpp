// surrogate_test.cpp: Tests which candidate a model of the costs prefers.
#include "search/strategies/surrogate.hpp"

#include <cmath>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "sample_lattice.hpp"

namespace fatune {
namespace {

using test::lattice_of;

/// A surrogate that was told the cost of every third point of a 9 x 9 grid: a valley around {6, 2}.
void tell_valley(const Lattice& space, Surrogate& surrogate, double level = 10) {
  for (std::uint64_t i = 0; i < space.size(); i += 3) {
    const Point point = space.point(i);
    surrogate.tell(point, level + std::abs(point[0] - 6) + std::abs(point[1] - 2));
  }
}

TEST_CASE("a surrogate is ready after two costs that differ") {
  Surrogate surrogate(lattice_of({9, 9}));
  CHECK_FALSE(surrogate.ready());
  surrogate.tell({0, 0}, 5.0);
  surrogate.tell({0, 1}, std::nullopt);
  surrogate.tell({0, 2}, 5.0);
  surrogate.tell({0, 3}, std::nan(""));
  CHECK_FALSE(surrogate.ready());
  surrogate.tell({0, 4}, 4.0);
  CHECK(surrogate.ready());
}

TEST_CASE("a surrogate prefers what lies in the valley") {
  const Lattice space = lattice_of({9, 9});
  // Costs below zero have no logarithm and are modelled as they are.
  for (const double level : {10.0, -100.0}) {
    Surrogate surrogate(space);
    tell_valley(space, surrogate, level);
    Rng rng(1);
    CHECK(surrogate.refresh(rng));
    CHECK_FALSE(surrogate.refresh(rng));
    const std::vector<Point> candidates = {{0, 8}, {6, 1}, {2, 7}, {8, 8}};
    CHECK(surrogate.most_promising(candidates, {}, 1) == std::vector<std::size_t>{1});
  }
}

TEST_CASE("a ranking begins with what promises most, and does not depend on its length") {
  const Lattice space = lattice_of({9, 9});
  Surrogate surrogate(space);
  tell_valley(space, surrogate, 10.0);
  Rng rng(1);
  surrogate.refresh(rng);
  const std::vector<Point> candidates = {{0, 8}, {6, 1}, {2, 7}, {8, 8}};
  const auto whole = surrogate.most_promising(candidates, {}, 9);
  REQUIRE(whole.size() == 4);
  CHECK(std::set<std::size_t>(whole.begin(), whole.end()).size() == 4);
  CHECK(whole.front() == 1);
  const auto two = surrogate.most_promising(candidates, {}, 2);
  CHECK(two == std::vector<std::size_t>(whole.begin(), whole.begin() + 2));
}

TEST_CASE("a candidate beside one in flight gains less") {
  Surrogate surrogate(lattice_of({9}));
  surrogate.tell({0}, 10.0);
  surrogate.tell({4}, 8.0);
  surrogate.tell({8}, 10.0);
  const std::vector<Point> candidates = {{2}, {6}};
  CHECK(surrogate.most_promising(candidates, std::vector<Point>{{3}}, 1) ==
        std::vector<std::size_t>{1});
  CHECK(surrogate.most_promising(candidates, std::vector<Point>{{5}}, 1) ==
        std::vector<std::size_t>{0});
}

TEST_CASE("failures are as bad as the slow") {
  const Lattice space = lattice_of({9, 9});
  Surrogate surrogate(space);
  for (std::uint64_t i = 0; i < space.size(); i += 3) {
    const Point point = space.point(i);
    const bool fails = point[0] > 4;
    surrogate.tell(point, fails ? std::nullopt : std::optional(10.0 - point[0]));
  }
  Rng rng(1);
  surrogate.refresh(rng);
  const std::vector<Point> candidates = {{8, 1}, {7, 4}, {4, 4}};
  CHECK(surrogate.most_promising(candidates, {}, 1) == std::vector<std::size_t>{2});
}

TEST_CASE("a surrogate of many costs sees the best and a sample") {
  const Lattice space = lattice_of({40, 40});
  Surrogate surrogate(space);
  for (std::uint64_t i = 0; i < space.size(); i += 2) {
    const Point point = space.point(i);
    surrogate.tell(point, 10.0 + std::abs(point[0] - 20) + std::abs(point[1] - 9));
  }
  Rng rng(1);
  surrogate.refresh(rng);
  const std::vector<Point> candidates = {{1, 38}, {35, 2}, {20, 9}, {30, 30}};
  CHECK(surrogate.most_promising(candidates, {}, 1) == std::vector<std::size_t>{2});
}

}  // namespace
}  // namespace fatune
