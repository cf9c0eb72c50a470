// ga_test.cpp: Tests that the genetic algorithm finds good points sooner than random search.
#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>

#include "search/strategies/strategy.hpp"
#include "support/test_kernels.hpp"

namespace fatune {
namespace {

using test::make_space;

constexpr std::uint64_t kBudgetOfGa = 150;
constexpr int kSeeds = 20;

/// A tile space with a rule; 2,304 raw points.
Lattice tile_space() {
  return make_space({.axes = {{"BLOCK_M", "[16, 32, 64, 128]", ""},
                              {"BLOCK_N", "[16, 32, 64, 128]", ""},
                              {"WARPS", "[1, 2, 4, 8]", ""},
                              {"STAGES", "[1, 2, 3, 4]", ""},
                              {"VEC", "[1, 2, 4]", ""},
                              {"ORDER", "[\"rows\", \"columns\", \"blocks\"]", ""},
                              {"EXP2", "[false, true]", ""}},
                     .rules = {"BLOCK_M * BLOCK_N * STAGES <= 32768"}})
      .lattice();
}

/// Every axis has its own optimum; the best corner is away from the ends.
double separable(const Point& p) {
  constexpr double kOptimum[] = {2, 1, 2, 1, 2, 1, 1};
  double cost = 10;
  for (std::size_t i = 0; i < p.size(); ++i) cost *= 1 + 0.12 * std::abs(p[i] - kOptimum[i]);
  return cost;
}

/// Axes pull at one another: warps must suit the tile, stages the tile's width, and the order the
/// vector width.
double interacting(const Point& p) {
  const double warps_wanted = std::min(3.0, p[0] + 0.5 * p[1] - 0.5);
  const double stages_wanted = 3.0 - p[1];
  double cost = 10 * (1 + 0.10 * std::abs(p[0] - 2.0)) * (1 + 0.15 * std::abs(p[2] - warps_wanted));
  cost *= 1 + 0.12 * std::abs(p[3] - stages_wanted);
  cost *= p[5] == 2 && p[4] == 2 ? 0.85 : 1 + 0.05 * p[5];
  return cost * (p[6] == 1 ? 1.0 : 1.08) *
         (1 + 0.02 * std::sin(7.0 * p[0] + 5.0 * p[1] + 3.0 * p[2]));
}

using Landscape = double (*)(const Point&);

double optimum(const Lattice& space, Landscape cost) {
  double best = std::numeric_limits<double>::infinity();
  for (std::uint64_t i = 0; i < space.size(); ++i) best = std::min(best, cost(space.point(i)));
  return best;
}

/// The best cost within the budget, with `in_flight` results outstanding.
double best_found(const Lattice& space, Landscape cost, std::string_view name, std::uint64_t seed,
                  std::size_t in_flight) {
  auto made = make_strategy(name, space, {.seed = seed, .budget = kBudgetOfGa});
  REQUIRE(made);
  Strategy& strategy = **made;
  std::vector<Point> window = strategy.ask(in_flight);
  double best = std::numeric_limits<double>::infinity();
  for (std::uint64_t done = 0; done < kBudgetOfGa; ++done) {
    const Point point = window.front();
    window.erase(window.begin());
    best = std::min(best, cost(point));
    strategy.tell({point, cost(point), false});
    for (const Point& next : strategy.ask(1)) window.push_back(next);
  }
  return best;
}

/// How many of twenty seeds came within 5 % of the optimum.
int successes(const Lattice& space, Landscape cost, std::string_view name, std::size_t in_flight) {
  const double limit = 1.05 * optimum(space, cost);
  int count = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    count += best_found(space, cost, name, static_cast<std::uint64_t>(seed), in_flight) <= limit;
  }
  return count;
}

TEST_CASE("ga comes within 5 % of the optimum where random search does not") {
  const Lattice space = tile_space();
  REQUIRE(space.size() > 1000);
  for (const Landscape cost : {separable, interacting}) {
    const int by_chance = successes(space, cost, "random", 1);
    const int one_at_a_time = successes(space, cost, "ga", 1);
    const int many_at_a_time = successes(space, cost, "ga", 16);
    CAPTURE(by_chance, one_at_a_time, many_at_a_time);
    CHECK(one_at_a_time >= 15);
    CHECK(many_at_a_time >= 12);
    CHECK(one_at_a_time >= by_chance + 10);
  }
}

TEST_CASE("ga starts with points far from one another") {
  const Lattice space = tile_space();
  auto made = make_strategy("ga", space, {.budget = kBudgetOfGa});
  REQUIRE(made);
  const auto start = (*made)->ask(16);
  for (std::size_t axis = 0; axis < space.axes().size(); ++axis) {
    std::vector<bool> seen(space.axes()[axis].size);
    for (const Point& point : start) seen[point[axis]] = true;
    CHECK(std::count(seen.begin(), seen.end(), true) == static_cast<std::ptrdiff_t>(seen.size()));
  }
}

TEST_CASE("ga does not breed from duplicates") {
  // All but one axis is inert: duplicates cost the same, and the search must not settle on them.
  const Lattice space = tile_space();
  auto made = make_strategy("ga", space, {.budget = kBudgetOfGa});
  REQUIRE(made);
  std::vector<bool> seen(4);
  double best = std::numeric_limits<double>::infinity();
  for (std::uint64_t i = 0; i < kBudgetOfGa; ++i) {
    const auto points = (*made)->ask(1);
    REQUIRE(points.size() == 1);
    const std::size_t lever = points.front()[0];
    const double cost = 10.0 - static_cast<double>(lever);
    best = std::min(best, cost);
    (*made)->tell({points.front(), cost, seen[lever]});
    seen[lever] = true;
  }
  CHECK(best == 7.0);
}

}  // namespace
}  // namespace fatune
