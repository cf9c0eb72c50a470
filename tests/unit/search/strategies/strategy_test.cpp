// strategy_test.cpp: Tests that strategies are deterministic, and ask valid points only once.
#include "search/strategies/strategy.hpp"

#include <set>

#include <catch2/catch_test_macros.hpp>

#include "core/text.hpp"
#include "support/test_kernels.hpp"

namespace fatune {
namespace {

using test::make_space;
using test::TestKernel;

const TestKernel kSmall{
    .axes = {{"A", "[1, 2, 4, 8]", "4"}, {"B", "[1, 2, 3]", "2"}, {"C", "[false, true]", ""}},
    .rules = {"A * B <= 12"}};

std::unique_ptr<Strategy> strategy_named(std::string_view name, const Lattice& space,
                                         StrategyOptions options = {}) {
  auto made = make_strategy(name, space, options);
  REQUIRE(made);
  return *std::move(made);
}

double cost_of(const Point& point) { return 10.0 + point[0] * 3.0 + point[1] * 2.0 - point[2]; }

/// Asks `batch` at a time, telling each batch before the next, until the space is exhausted.
std::vector<Point> run_to_the_end(Strategy& strategy, std::size_t batch) {
  std::vector<Point> order;
  for (;;) {
    const auto points = strategy.ask(batch);
    if (points.empty()) return order;
    for (const Point& point : points) {
      order.push_back(point);
      const bool fails = point[0] == 1;
      strategy.tell({point, fails ? std::nullopt : std::optional(cost_of(point)), point[2] == 1});
    }
  }
}

TEST_CASE("every strategy tries each valid point exactly once") {
  const Lattice space = make_space(kSmall).lattice();
  for (const StrategyInfo& info : strategies()) {
    for (const std::uint64_t budget : {0U, 5U, 150U}) {
      for (const std::size_t batch : {1U, 3U}) {
        CAPTURE(info.name, budget, batch);
        const auto strategy = strategy_named(info.name, space, {.budget = budget});
        CHECK(strategy->name() == info.name);
        const auto order = run_to_the_end(*strategy, batch);
        CHECK(order.size() == space.size());
        CHECK(std::set<Point>(order.begin(), order.end()).size() == space.size());
        for (const Point& point : order) CHECK(space.contains(point));
        CHECK(strategy->ask(1).empty());
      }
    }
  }
}

TEST_CASE("the same seed asks the same, another does not") {
  const Lattice space = make_space({.axes = {{"A", "[1, 2, 3, 4, 5, 6, 7, 8]", ""},
                                             {"B", "[1, 2, 3, 4, 5, 6, 7, 8]", ""},
                                             {"C", "[1, 2, 3, 4, 5, 6, 7, 8]", ""}}})
                            .lattice();
  for (const std::string name : {"ga", "random"}) {
    CAPTURE(name);
    const auto first = run_to_the_end(*strategy_named(name, space, {.seed = 1}), 2);
    CHECK(first == run_to_the_end(*strategy_named(name, space, {.seed = 1}), 2));
    CHECK(first != run_to_the_end(*strategy_named(name, space, {.seed = 2}), 2));
  }
}

TEST_CASE("start points come first, without repeats and invalid ones") {
  const Lattice space = make_space(kSmall).lattice();
  const std::vector<Point> start = {{2, 1, 0}, {3, 2, 0}, {0, 0, 1}, {2, 1, 0}};
  REQUIRE_FALSE(space.contains(start[1]));
  for (const StrategyInfo& info : strategies()) {
    CAPTURE(info.name);
    const auto points = strategy_named(info.name, space, {.budget = 8, .start = start})->ask(2);
    CHECK(points == std::vector<Point>{{2, 1, 0}, {0, 0, 1}});
  }
}

TEST_CASE("exhaustive follows the order of the space") {
  const Lattice space = make_space(kSmall).lattice();
  const auto points = strategy_named("exhaustive", space)->ask(4);
  CHECK(points == std::vector<Point>{{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1}});
}

TEST_CASE("what a strategy likely asks next is valid and new, and saying so changes nothing") {
  const Lattice space = make_space(kSmall).lattice();
  for (const StrategyInfo& info : strategies()) {
    CAPTURE(info.name);
    const StrategyOptions options{.budget = 10, .start = {{2, 1, 0}}};
    const auto silent = run_to_the_end(*strategy_named(info.name, space, options), 1);
    const auto guessing = strategy_named(info.name, space, options);
    std::set<Point> asked;
    for (const Point& point : silent) {
      const auto guessed = guessing->likely(3);
      CHECK(guessed.size() <= 3);
      CHECK(std::set<Point>(guessed.begin(), guessed.end()).size() == guessed.size());
      for (const Point& each : guessed) CHECK((space.contains(each) && !asked.contains(each)));
      CHECK(guessing->ask(1) == std::vector<Point>{point});
      asked.insert(point);
      const bool fails = point[0] == 1;
      guessing->tell({point, fails ? std::nullopt : std::optional(cost_of(point)), point[2] == 1});
    }
    CHECK(guessing->likely(3).empty());
  }
}

TEST_CASE("an unknown strategy is a usage error with the nearest name") {
  const Lattice space = make_space(kSmall).lattice();
  const auto made = make_strategy("exhautive", space, {});
  REQUIRE_FALSE(made);
  CHECK(made.error().kind == ErrorKind::kUsage);
  std::vector<std::string> known;
  for (const StrategyInfo& info : strategies()) known.emplace_back(info.name);
  CHECK(made.error().message ==
        "--strategy: there is no strategy 'exhautive'; did you mean 'exhaustive'? (known: " +
            join(known, ", ") + ")");
}

}  // namespace
}  // namespace fatune
