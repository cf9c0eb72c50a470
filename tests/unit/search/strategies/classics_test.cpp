// classics_test.cpp: Tests that searches try every config once, and that the textbook searches beat
// random search.
#include <algorithm>
#include <deque>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "sample_lattice.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {
namespace {

using test::lattice_of;
using test::strategy_on;
using test::valley;

const std::vector<std::string> kClassics = {"kt-ga", "ils", "annealing", "de", "pso"};
/// The strategies whose asks depend on results.
const std::vector<std::string> kSearches = {"kt-ga", "ils", "annealing", "de", "pso", "ga", "evo"};

Lattice constrained() {
  return lattice_of({5, 4, 1, 6, 3, 2}, [](const Point& p) {
    return (p[0] + p[1]) % 3 != 1 && p[3] * p[4] <= 6 && p[1] != 2;
  });
}

using Cost = std::function<std::optional<double>(const Point&)>;

/// Everything asked within the budget, in order, with up to `in_flight` results outstanding.
std::vector<Point> run(const Lattice& space, Strategy& strategy, const Cost& cost,
                       std::uint64_t budget, std::size_t in_flight) {
  std::vector<Point> order;
  std::deque<Point> window;
  const std::uint64_t most = std::min(budget, space.size());
  while (order.size() < most || !window.empty()) {
    const std::uint64_t room =
        std::min<std::uint64_t>(in_flight - window.size(), most - order.size());
    const auto asked = room > 0 ? strategy.ask(room) : std::vector<Point>{};
    if (room > 0) REQUIRE_FALSE(asked.empty());
    for (const Point& point : asked) {
      REQUIRE(space.contains(point));
      order.push_back(point);
      window.push_back(point);
    }
    strategy.tell({window.front(), cost(window.front()), false});
    window.pop_front();
  }
  return order;
}

void check_reaches_all(const Lattice& space, const Cost& cost) {
  for (const std::string& name : kSearches) {
    for (const std::size_t in_flight : {1U, 4U, 16U}) {
      CAPTURE(name, in_flight);
      const auto strategy = strategy_on(space, name, {.seed = 3, .budget = 50});
      const auto order = run(space, *strategy, cost, space.size(), in_flight);
      CHECK(std::set<Point>(order.begin(), order.end()).size() == space.size());
      CHECK(strategy->ask(4).empty());
    }
  }
}

TEST_CASE("a search reaches the whole space, no point twice, with 1, 4 and 16 in flight") {
  const Lattice space = constrained();
  check_reaches_all(space, [&](const Point& p) { return valley(space, p); });
}

TEST_CASE("a search reaches the whole space where everything or almost everything fails") {
  const Lattice space = constrained();
  check_reaches_all(space, [](const Point&) { return std::nullopt; });
  check_reaches_all(space, [&](const Point& p) -> std::optional<double> {
    if (p[0] != 4 || p[1] != 0) return std::nullopt;
    return valley(space, p);
  });
}

TEST_CASE("a search does with spaces of one, two and three configs, and with none") {
  for (const std::size_t size : {1U, 2U, 3U}) {
    const Lattice space =
        lattice_of({4, 3, 1}, [&](const Point& p) { return p[0] == 2 && p[1] < size; });
    REQUIRE(space.size() == size);
    check_reaches_all(space, [](const Point& p) { return 1.0 + p[1]; });
  }
  const Lattice none = lattice_of({4, 3}, [](const Point&) { return false; });
  const Lattice bare(std::vector<Axis>{}, {0});
  for (const std::string& name : kSearches) {
    CHECK(strategy_on(none, name)->ask(3).empty());
    CHECK(strategy_on(bare, name)->ask(3).size() == 1);
  }
}

TEST_CASE("a search does with configs that have no neighbours") {
  const Lattice space = lattice_of(
      {6, 6, 6}, [](const Point& p) { return p[0] % 3 == 0 && p[1] == p[0] && p[2] == p[0]; });
  REQUIRE(space.size() == 2);
  const Lattice scattered = lattice_of({6, 6, 6}, [](const Point& p) {
    return p[0] % 2 == 0 && p[1] == p[0] && (p[2] + p[0]) % 4 == 0;
  });
  check_reaches_all(space, [](const Point& p) { return 1.0 + p[0]; });
  check_reaches_all(scattered, [](const Point& p) { return 1.0 + p[0]; });
}

TEST_CASE("a classic asks the same for the same seed, and not for another") {
  const Lattice space = lattice_of({6, 6, 6, 6});
  const Cost cost = [&](const Point& p) { return valley(space, p); };
  for (const std::string& name : kClassics) {
    for (const std::size_t in_flight : {1U, 4U, 16U}) {
      CAPTURE(name, in_flight);
      const auto order_of = [&](std::uint64_t seed) {
        const auto strategy = strategy_on(space, name, {.seed = seed, .budget = 200});
        return run(space, *strategy, cost, 200, in_flight);
      };
      CHECK(order_of(1) == order_of(1));
      CHECK(order_of(1) != order_of(2));
    }
  }
}

/// The mean over 20 seeds of the best cost within 150 of 20,736 points.
double mean_best(const Lattice& space, std::string_view name, std::size_t in_flight) {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto strategy = strategy_on(space, name, {.seed = seed, .budget = 150});
    const Cost cost = [&](const Point& p) { return valley(space, p); };
    double best = 1e9;
    for (const Point& point : run(space, *strategy, cost, 150, in_flight)) {
      best = std::min(best, valley(space, point));
    }
    sum += best / 20;
  }
  return sum;
}

TEST_CASE("classics find better points in a valley than chance does") {
  const Lattice space = lattice_of({12, 12, 12, 12});
  const double by_chance = mean_best(space, "random", 1);
  CAPTURE(by_chance);
  for (const std::string& name : kClassics) {
    for (const std::size_t in_flight : {1U, 4U, 16U}) {
      const double found = mean_best(space, name, in_flight);
      CAPTURE(name, in_flight, found);
      // Populations of 64 and of 50 have few generations within this budget.
      const double wanted = name == "de" || name == "pso" ? 0.95 : 0.9;
      CHECK(found < wanted * by_chance);
    }
  }
}

TEST_CASE("a search spends its budget in a space of a million configs, no config twice") {
  const Lattice space = lattice_of({10, 10, 10, 10, 5, 5, 4}, [](const Point& p) {
    return (p[0] + p[1] + p[2]) % 5 != 3 || p[3] > 7;
  });
  REQUIRE(space.size() > 800'000);
  for (const std::string& name : kSearches) {
    CAPTURE(name);
    const auto strategy = strategy_on(space, name, {.budget = 220});
    const std::vector<Point> order = run(
        space, *strategy, [&](const Point& p) { return valley(space, p); }, 220, 4);
    CHECK(order.size() == 220);
    CHECK(std::set<Point>(order.begin(), order.end()).size() == 220);
  }
}

}  // namespace
}  // namespace fatune
