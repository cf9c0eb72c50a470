// neighbourhood_test.cpp: Tests each kind of neighbourhood against a scan of all points.
#include <algorithm>
#include <map>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "sample_lattice.hpp"
#include "search/strategies/rounds.hpp"

namespace fatune {
namespace {

using test::lattice_of;

Lattice sparse() {
  return lattice_of({5, 4, 6, 3}, [](const Point& p) {
    return (p[0] * 7 + p[1] * 5 + p[2] * 3 + p[3]) % 6 == 0 && p[2] != 3;
  });
}

int steps(std::uint16_t a, std::uint16_t b) { return std::abs(static_cast<int>(a) - b); }

struct Distance {
  int axes = 0, longest = 0, sum = 0;
};

Distance between(const Point& a, const Point& b) {
  Distance found;
  for (std::size_t axis = 0; axis < a.size(); ++axis) {
    const int gap = steps(a[axis], b[axis]);
    found.axes += gap > 0 ? 1 : 0;
    found.longest = std::max(found.longest, gap);
    found.sum += gap;
  }
  return found;
}

template <typename Draw>
std::set<std::uint64_t> drawn(const Draw& draw) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 400; ++i) {
    if (const std::optional<std::uint64_t> index = draw()) seen.insert(*index);
  }
  return seen;
}

template <typename Belongs>
std::set<std::uint64_t> looked_up(const Lattice& space, const Point& point,
                                  const Belongs& belongs) {
  std::set<std::uint64_t> found;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const Point other = space.point(i);
    if (other != point && belongs(other)) found.insert(i);
  }
  return found;
}

TEST_CASE("each kind draws exactly its points, around valid and invalid ones") {
  const Lattice space = sparse();
  Neighbourhood near(space);
  Rng rng(1);
  for (const Point& point : {Point{2, 1, 2, 1}, Point{0, 0, 0, 0}, Point{4, 3, 5, 2},
                             Point{1, 1, 3, 1}, Point{3, 2, 4, 0}}) {
    CAPTURE(point, space.contains(point));
    CHECK(drawn([&] { return near.hamming(point, rng); }) ==
          looked_up(space, point, [&](const Point& o) { return between(o, point).axes == 1; }));
    CHECK(drawn([&] { return near.strictly_adjacent(point, rng); }) ==
          looked_up(space, point, [&](const Point& o) { return between(o, point).longest == 1; }));
    // No valid point has value 3 in the third axis: adjacent points step over it.
    const auto adjacent = [&](const Point& other) {
      for (std::size_t axis = 0; axis < 4; ++axis) {
        const int reach =
            axis == 2 && std::min(other[2], point[2]) == 2 && std::max(other[2], point[2]) == 4 ? 2
                                                                                                : 1;
        if (steps(other[axis], point[axis]) > reach) return false;
      }
      return true;
    };
    CHECK(drawn([&] { return near.adjacent(point, rng); }) == looked_up(space, point, adjacent));
  }
}

TEST_CASE("the closest points are those of least distance") {
  const Lattice space = sparse();
  const Neighbourhood near(space);
  Rng rng(2);
  for (const Point& point : {Point{2, 1, 3, 1}, Point{0, 0, 0, 1}, Point{4, 3, 5, 0}}) {
    int least = 100;
    for (std::uint64_t i = 0; i < space.size(); ++i) {
      const Point other = space.point(i);
      if (other != point) least = std::min(least, between(other, point).sum);
    }
    CHECK(drawn([&] { return std::optional(near.closest(point, rng)); }) ==
          looked_up(space, point, [&](const Point& o) { return between(o, point).sum == least; }));
  }
}

TEST_CASE("neighbours are drawn alike often") {
  const Lattice space = sparse();
  const Neighbourhood near(space);
  Rng rng(3);
  std::map<std::uint64_t, int> times;
  for (int i = 0; i < 4000; ++i) ++times[near.strictly_adjacent({2, 1, 2, 1}, rng).value()];
  REQUIRE(times.size() > 3);
  const int fair = 4000 / static_cast<int>(times.size());
  for (const auto& [index, count] : times) CHECK((count > fair / 2 && count < fair * 2));
}

TEST_CASE("a point without neighbours has none, and still a closest one") {
  const Lattice space = lattice_of({9, 9, 9}, [](const Point& p) {
    return p == Point{0, 0, 0} || p == Point{8, 8, 8};
  });
  Neighbourhood near(space);
  Rng rng(4);
  CHECK_FALSE(near.hamming({0, 0, 0}, rng));
  CHECK_FALSE(near.strictly_adjacent({0, 0, 0}, rng));
  CHECK(near.adjacent({0, 0, 0}, rng) == std::optional<std::uint64_t>(1));
  CHECK(near.closest({1, 0, 1}, rng) == 0);
  CHECK(near.closest({0, 0, 0}, rng) == 1);
}

TEST_CASE("walks in a huge sparse space end soon") {
  // Eighteen axes; valid points share their last nine axes with the first nine.
  const std::vector<std::size_t> sizes(18, 4);
  std::vector<std::uint64_t> codes;
  Rng rng(5);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t half = rng.below(std::uint64_t{1} << 18U);
    codes.push_back((half << 18U) | half);
  }
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  const Lattice space(test::axes_of(sizes), codes);
  Neighbourhood near(space);
  for (int i = 0; i < 200; ++i) {
    Point point(18);
    for (std::uint16_t& position : point) position = static_cast<std::uint16_t>(rng.below(4));
    CHECK(near.closest(point, rng) < space.size());
    for (const auto& found : {near.strictly_adjacent(point, rng), near.adjacent(point, rng)}) {
      if (found) CHECK(between(space.point(*found), point).longest == 1);
    }
  }
}

}  // namespace
}  // namespace fatune
