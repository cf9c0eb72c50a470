// points_test.cpp: Tests distances, mutation, crossover and spread.
#include "search/strategies/points.hpp"

#include <map>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "support/test_kernels.hpp"

namespace fatune {
namespace {

using test::make_space;
using test::TestKernel;

const TestKernel kMixed{.axes = {{"TILE", "[16, 32, 64, 128, 256]", ""},
                                 {"REDUCE", "[\"warp\", \"serial\", \"block\"]", ""},
                                 {"FIXED", "[1]", ""}}};

TEST_CASE("distance respects the order of numbers and ignores that of words") {
  const Lattice space = make_space(kMixed).lattice();
  CHECK(distance(space, {0, 0, 0}, {0, 0, 0}) == 0);
  CHECK(distance(space, {0, 0, 0}, {1, 0, 0}) == Catch::Approx(0.625));
  CHECK(distance(space, {0, 0, 0}, {4, 0, 0}) == Catch::Approx(1.0));
  CHECK(distance(space, {0, 0, 0}, {0, 1, 0}) == distance(space, {0, 0, 0}, {0, 2, 0}));
  CHECK(distance(space, {0, 0, 0}, {4, 2, 0}) == Catch::Approx(2.0));
}

TEST_CASE("each value comes from the nearest point that has it") {
  const Lattice space = make_space(kMixed).lattice();
  const std::vector<Point> points = {{4, 1, 0}, {3, 1, 0}, {0, 1, 0}, {0, 0, 0}, {2, 0, 0}};
  const std::vector<Point> expected = {{2, 0, 0}, {3, 1, 0}, {4, 1, 0}, {0, 1, 0}};
  CHECK(nearest_by_value(space, {0, 0, 0}, points) == expected);
  CHECK(nearest_by_value(space, {0, 0, 0}, {}).empty());
  CHECK(nearest_by_value(space, {4, 1, 0}, std::vector<Point>{{4, 1, 0}}).empty());
}

TEST_CASE("a mutant differs, stays within the axes and prefers single steps") {
  const Lattice space = make_space(kMixed).lattice();
  Rng rng(11);
  std::map<int, int> steps;
  for (int i = 0; i < 2000; ++i) {
    const Point mutant = mutate(space, {2, 0, 0}, rng);
    CHECK(mutant != Point{2, 0, 0});
    REQUIRE(mutant[0] < 5);
    REQUIRE(mutant[1] < 3);
    REQUIRE(mutant[2] == 0);
    ++steps[std::abs(static_cast<int>(mutant[0]) - 2)];
  }
  CHECK(steps[1] > 2 * steps[2]);
  CHECK(steps[2] > 0);
}

TEST_CASE("a mutation at the end of an axis stays inside") {
  const Lattice space = make_space(kMixed).lattice();
  Rng rng(12);
  for (int i = 0; i < 500; ++i) {
    CHECK(mutate(space, {0, 0, 0}, rng)[0] < 5);
    CHECK(mutate(space, {4, 2, 0}, rng)[0] < 5);
  }
}

TEST_CASE("a space of one point has only itself as a mutant") {
  const Lattice space = make_space({.axes = {{"FIXED", "[1]", ""}}}).lattice();
  Rng rng(13);
  CHECK(mutate(space, {0}, rng) == Point{0});
}

TEST_CASE("a child has every axis from one of its parents") {
  Rng rng(14);
  std::map<int, int> from_father;
  for (int i = 0; i < 400; ++i) {
    const Point child = crossover({0, 0, 0, 0}, {1, 1, 1, 1}, rng);
    for (int axis = 0; axis < 4; ++axis) from_father[axis] += child[static_cast<std::size_t>(axis)];
  }
  for (const auto& [axis, count] : from_father) CHECK((count > 150 && count < 250));
}

TEST_CASE("a spread point keeps away from those known") {
  const Lattice space =
      make_space({.axes = {{"A", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", ""}}}).lattice();
  UntriedSet untried(space.size());
  Rng rng(15);
  int far = 0;
  for (int i = 0; i < 50; ++i) far += far_from(space, {{0}, {1}}, untried, 30, rng) >= 7;
  CHECK(far == 50);
  CHECK(untried.left() == 10);
}

}  // namespace
}  // namespace fatune
