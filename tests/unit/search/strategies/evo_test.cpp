// evo_test.cpp: Tests evo: its results, and its robustness against any observation.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "sample_lattice.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {
namespace {

using test::lattice_of;
using test::strategy_on;

using FixedCost = std::optional<double> (*)(const Point&);

/// Returns the asked points in order, with `in_flight` results outstanding.
std::vector<Point> run(Strategy& strategy, FixedCost cost, std::size_t budget,
                       std::size_t in_flight) {
  std::vector<Point> order = strategy.ask(in_flight);
  std::size_t told = 0;
  while (told < order.size() && told < budget) {
    strategy.tell({order[told], cost(order[told]), false});
    ++told;
    if (order.size() >= budget) continue;
    for (const Point& point : strategy.ask(1)) order.push_back(point);
  }
  return order;
}

bool differ_in_one_axis(const Point& a, const Point& b) {
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin());
  return at_a != a.end() && std::equal(at_a + 1, a.end(), at_b + 1);
}

/// A tile space with a rule and 3,072 valid points. The axes pull at one another, and there are
/// words among them.
Lattice tiles() {
  std::vector<Axis> axes = lattice_of({6, 6, 4, 4, 3, 3}).axes();
  axes[5].ordinal = false;
  std::vector<std::uint64_t> codes;
  const Lattice grid =
      lattice_of({6, 6, 4, 4, 3, 3}, [](const Point& p) { return p[0] + p[1] + p[3] <= 8; });
  for (std::uint64_t i = 0; i < grid.size(); ++i) codes.push_back(grid.encode(grid.point(i)));
  return Lattice(axes, codes);
}

std::optional<double> tile_cost(const Point& p) {
  if (p[4] == 2 && p[2] == 0) return std::nullopt;
  const double warps_wanted = std::min(3.0, p[0] + 0.5 * p[1] - 0.5);
  const double stages_wanted = 3.0 - p[1];
  double cost = 10 * (1 + 0.10 * std::abs(p[0] - 2.0)) * (1 + 0.15 * std::abs(p[2] - warps_wanted));
  cost *= 1 + 0.12 * std::abs(p[3] - stages_wanted);
  cost *= p[5] == 2 && p[4] == 2 ? 0.8 : 1 + 0.05 * p[5];
  return cost * (1 + 0.02 * std::sin(7.0 * p[0] + 5.0 * p[1] + 3.0 * p[2]));
}

std::optional<double> sum_cost(const Point& point) {
  return 1.0 + std::accumulate(point.begin(), point.end(), 0.0);
}

double best_of(const std::vector<Point>& points) {
  double best = std::numeric_limits<double>::infinity();
  for (const Point& point : points) best = std::min(best, tile_cost(point).value_or(best));
  return best;
}

std::vector<Point> all_points(const Lattice& space) {
  std::vector<Point> points;
  for (std::uint64_t i = 0; i < space.size(); ++i) points.push_back(space.point(i));
  return points;
}

int successes(const Lattice& space, std::string_view name, std::size_t in_flight) {
  constexpr std::size_t kBudget = 100;
  const double limit = 1.02 * best_of(all_points(space));
  int count = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto strategy = strategy_on(space, name, {.seed = seed, .budget = kBudget});
    count += best_of(run(*strategy, tile_cost, kBudget, in_flight)) <= limit;
  }
  return count;
}

TEST_CASE("evo comes within 2 % of the optimum in 100 evaluations") {
  const Lattice space = tiles();
  REQUIRE(space.size() > 3000);
  const int alone = successes(space, "evo", 1);
  const int many = successes(space, "evo", 8);
  CAPTURE(alone, many);
  CHECK(alone >= 9);
  CHECK(many >= 8);
  CHECK(successes(space, "random", 1) <= 3);
}

TEST_CASE("evo asks the same again, whatever is in flight") {
  const Lattice space = tiles();
  for (const std::size_t in_flight : {1U, 4U, 16U}) {
    const auto first = run(*strategy_on(space, "evo", {.seed = 3}), tile_cost, 60, in_flight);
    const auto again = run(*strategy_on(space, "evo", {.seed = 3}), tile_cost, 60, in_flight);
    CHECK(first == again);
    CHECK(std::set<Point>(first.begin(), first.end()).size() == first.size());
    CHECK(first != run(*strategy_on(space, "evo", {.seed = 4}), tile_cost, 60, in_flight));
  }
}

TEST_CASE("evo wants more in flight the more it was told") {
  const Lattice space = tiles();
  const auto strategy = strategy_on(space, "evo", {.budget = 100});
  CHECK(strategy->most_in_flight() == 7);
  std::vector<Point> order = strategy->ask(7);
  CHECK(strategy->most_in_flight() == 2);
  for (std::size_t told = 1; told <= 80; ++told) {
    strategy->tell({order[told - 1], tile_cost(order[told - 1]), false});
    const std::size_t in_flight = order.size() - told;
    const std::size_t most = strategy->most_in_flight();
    CHECK(most == 2 + told / 8);
    if (in_flight >= most) continue;
    for (const Point& point : strategy->ask(most - in_flight)) order.push_back(point);
  }
  // Where all are tried, none is chosen with too little knowledge.
  CHECK(strategy_on(space, "evo", {.budget = space.size()})->most_in_flight() >= space.size());
}

TEST_CASE("evo wants more in flight where time is scarce") {
  const Lattice space = tiles();
  const auto strategy = strategy_on(space, "evo", {.budget = 100, .scarce = Scarce::kTime});
  const std::vector<Point> asked = strategy->ask(7);
  CHECK(strategy->most_in_flight() == 6);
  for (std::size_t told = 1; told <= asked.size(); ++told) {
    strategy->tell({asked[told - 1], tile_cost(asked[told - 1]), false});
    CHECK(strategy->most_in_flight() == 6 + told / 4);
  }
}

/// As run(), and in front of each ask the points that are likely next are handed to `see`.
std::vector<Point> run_guessing(Strategy& strategy, FixedCost cost, std::size_t budget,
                                std::size_t in_flight,
                                const std::function<void(const std::vector<Point>& guessed,
                                                         const std::vector<Point>& asked)>& see) {
  std::vector<Point> order;
  for (std::size_t told = 0; told < budget; ++told) {
    while (order.size() < std::min(budget, told + in_flight)) {
      see(strategy.likely(8), order);
      order.push_back(strategy.ask(1).at(0));
    }
    strategy.tell({order[told], cost(order[told]), false});
  }
  return order;
}

TEST_CASE("what evo likely asks next is valid and new, and saying so changes nothing") {
  const Lattice space = tiles();
  const std::vector<Point> start = {{2, 1, 1, 1, 0, 0}, {2, 2, 1, 1, 0, 0}};
  for (const bool one_lever : {false, true}) {
    for (const std::size_t in_flight : {1U, 3U, 12U}) {
      CAPTURE(one_lever, in_flight);
      const StrategyOptions options{.seed = 5, .start = start, .one_lever = one_lever};
      auto silent = run(*strategy_on(space, "evo", options), tile_cost, 80, in_flight);
      silent.resize(80);
      const auto other = strategy_on(space, "evo", options);
      std::size_t guesses = 0;
      const auto check = [&](const std::vector<Point>& guessed, const std::vector<Point>& asked) {
        CHECK(guessed.size() <= 8);
        guesses += guessed.size();
        CHECK(other->likely(8) == guessed);
        CHECK(std::set<Point>(guessed.begin(), guessed.end()).size() == guessed.size());
        for (const Point& point : guessed) {
          CHECK(space.contains(point));
          CHECK(std::find(asked.begin(), asked.end(), point) == asked.end());
        }
      };
      CHECK(run_guessing(*other, tile_cost, 80, in_flight, check) == silent);
      CHECK(guesses > 0);
    }
  }
}

TEST_CASE("evo knows for sure how its spread goes on") {
  const Lattice space = tiles();
  const auto strategy = strategy_on(space, "evo", {.start = {{2, 1, 1, 1, 0, 0}}});
  const std::vector<Point> spread = strategy->likely(8);
  CHECK(spread.size() == 7);
  CHECK(strategy->likely(3) == std::vector<Point>(spread.begin(), spread.begin() + 3));
  const auto first = strategy->ask(2);
  CHECK(strategy->likely(8) == std::vector<Point>(spread.begin() + 2, spread.end()));
  strategy->tell({first[0], 3.0, false});
  strategy->tell({first[1], 4.0, false});
  CHECK(strategy->ask(5) == std::vector<Point>(spread.begin() + 2, spread.end()));
  CHECK(strategy->likely(8).empty());
}

TEST_CASE("half of what evo asks was likely when it asked before") {
  const Lattice space = tiles();
  std::size_t hits = 0, asks = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto strategy = strategy_on(space, "evo", {.seed = seed, .budget = 100});
    std::vector<Point> before;
    run_guessing(*strategy, tile_cost, 100, 2,
                 [&](const std::vector<Point>& guessed, const std::vector<Point>& asked) {
                   if (!asked.empty()) {
                     ++asks;
                     hits += std::count(before.begin(), before.end(), asked.back());
                   }
                   before = guessed;
                 });
  }
  CAPTURE(hits, asks);
  CHECK(2 * hits > asks);
}

TEST_CASE("evo soon tries each value, however little the model expects of it") {
  // The last value of the first axis is valid at one point of a hundred, and only where all is
  // slow.
  const Lattice space = lattice_of({4, 3, 3, 3, 3, 3}, [](const Point& p) {
    return p[0] < 3 || (p[1] == 1 && p[2] == 1 && p[3] == 1);
  });
  int found = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto evo = strategy_on(space, "evo", {.seed = seed, .budget = 20});
    const std::vector<Point> points = run(*evo, sum_cost, 20, 1);
    found += std::ranges::any_of(points, [](const Point& p) { return p[0] == 3; });
  }
  CHECK(found == 10);
}

TEST_CASE("with one lever each point differs in one axis from one before it") {
  const Lattice space = tiles();
  for (const std::string name : {"evo", "ga"}) {
    for (const std::size_t in_flight : {1U, 4U}) {
      CAPTURE(name, in_flight);
      const StrategyOptions options{.start = {{2, 1, 1, 1, 0, 0}}, .one_lever = true};
      const auto order = run(*strategy_on(space, name, options), tile_cost, 100, in_flight);
      REQUIRE(order.size() == 100);
      CHECK(order.front() == options.start.front());
      for (std::size_t i = 1; i < order.size(); ++i) {
        CHECK(std::any_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i),
                          [&](const Point& p) { return differ_in_one_axis(p, order[i]); }));
      }
    }
  }
}

TEST_CASE("with one lever a space in two parts is still tried whole") {
  const Lattice space =
      lattice_of({4, 4, 2}, [](const Point& p) { return (p[0] < 2) == (p[1] < 2); });
  for (const std::string name : {"evo", "ga"}) {
    const auto order = run(*strategy_on(space, name, {.one_lever = true}), sum_cost, 100, 1);
    CHECK(order.size() == space.size());
  }
}

}  // namespace
}  // namespace fatune
