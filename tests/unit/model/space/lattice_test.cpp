// lattice_test.cpp: Checks points, codes and indices of a lattice given by its codes.
#include "model/space/lattice.hpp"

#include <catch2/catch_test_macros.hpp>

namespace fatune {
namespace {

/// 2 x 3, without {0, 1} and {1, 2}.
Lattice holed() { return Lattice({{"A", 2, true}, {"B", 3, false}}, {0, 2, 3, 4}); }

TEST_CASE("a lattice numbers its points in the order of their codes") {
  const Lattice space = holed();
  REQUIRE(space.size() == 4);
  const std::vector<Point> expected = {{0, 0}, {0, 2}, {1, 0}, {1, 1}};
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    CHECK(space.point(i) == expected[i]);
    CHECK(space.index_of(expected[i]) == i);
  }
}

TEST_CASE("a lattice does not contain holes, values out of range and points of other lengths") {
  const Lattice space = holed();
  CHECK(space.encode({1, 2}) == 5);
  CHECK_FALSE(space.contains({0, 1}));
  CHECK_FALSE(space.contains({1, 2}));
  CHECK_FALSE(space.contains({0, 3}));  // its code would be that of {1, 0}
  CHECK_FALSE(space.contains({1}));
  CHECK_FALSE(space.contains({}));
}

TEST_CASE("neighbours differ in one axis and are valid") {
  const Lattice space = holed();
  CHECK(space.neighbours({0, 0}) == std::vector<Point>{{1, 0}, {0, 2}});
  CHECK(space.neighbours({1, 2}) == std::vector<Point>{{0, 2}, {1, 0}, {1, 1}});
}

TEST_CASE("a lattice may be empty") {
  const Lattice space({{"A", 2, true}}, {});
  CHECK(space.size() == 0);
  CHECK_FALSE(space.contains({0}));
  CHECK(Lattice().size() == 0);
}

}  // namespace
}  // namespace fatune
