// landscape_test.cpp: Tests the expected result of random search against enumeration of all draws.
#include <algorithm>
#include <cmath>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "search/replay/score.hpp"

namespace fatune {
namespace {

using Catch::Approx;
using Costs = std::vector<std::optional<double>>;

Landscape build(const Costs& costs) {
  auto landscape = Landscape::build(costs, "test");
  REQUIRE(landscape);
  return *std::move(landscape);
}

/// The mean, over every subset of t configs, of its best cost.
double by_counting(const Costs& costs, unsigned t) {
  double worst = 0;
  for (const auto& cost : costs) worst = std::max(worst, cost.value_or(0));
  double sum = 0, subsets = 0;
  for (unsigned mask = 0; mask < (1U << costs.size()); ++mask) {
    if (static_cast<unsigned>(__builtin_popcount(mask)) != t) continue;
    double best = worst;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (((mask >> i) & 1U) != 0 && costs[i]) best = std::min(best, *costs[i]);
    }
    sum += best;
    subsets += 1;
  }
  return sum / subsets;
}

TEST_CASE("the expected best of t random configs is exact") {
  const std::vector<Costs> spaces = {
      {3.0, 1.0, 7.5, 2.0, 2.0, 9.0, 4.0},
      {5.0, std::nullopt, 1.0, std::nullopt, std::nullopt, 8.0, 8.0, 2.5},
      {std::nullopt, 4.0, std::nullopt, std::nullopt},
      {6.0},
  };
  for (const Costs& costs : spaces) {
    const auto expected = build(costs).expected_best(costs.size() + 5);
    REQUIRE(expected.size() == costs.size() + 1);
    for (unsigned t = 0; t <= costs.size(); ++t) {
      CAPTURE(costs.size(), t);
      CHECK(expected[t] == Approx(by_counting(costs, t)).epsilon(1e-12));
    }
  }
}

TEST_CASE("the expected best of a large space is that of order statistics") {
  Costs costs;
  for (int i = 1; i <= 100'000; ++i) costs.emplace_back(i);
  const auto expected = build(costs).expected_best(220);
  for (const std::size_t t : {1U, 10U, 220U}) {
    CHECK(expected[t] == Approx(100'001.0 / static_cast<double>(t + 1)).epsilon(1e-9));
  }
}

TEST_CASE("a landscape knows its optimum, median and failures") {
  const Landscape landscape = build({4.0, std::nullopt, 1.0, 2.0, 10.0});
  CHECK(landscape.optimum() == 1);
  CHECK(landscape.worst() == 10);
  CHECK(landscape.median() == 3);
  CHECK(landscape.size() == 5);
  CHECK(landscape.failures() == 1);
}

TEST_CASE("a space in which everything failed has nothing to score") {
  const auto landscape = Landscape::build(Costs{std::nullopt, std::nullopt}, "x.json");
  REQUIRE_FALSE(landscape);
  CHECK(landscape.error().kind == ErrorKind::kFile);
  CHECK(landscape.error().message ==
        "x.json: none of the 2 configs was measured, so there is nothing to score");
}

TEST_CASE("fractions of the optimum, for times and for scores with their sign turned") {
  const Landscape times = build({2.0, 4.0});
  CHECK(times.fraction_of_optimum(2) == 1);
  CHECK(times.fraction_of_optimum(4) == 0.5);
  CHECK(times.excess(4) == 1);
  const Landscape scores = build({-0.5, -0.25, 0.25});
  CHECK(scores.fraction_of_optimum(-0.5) == 1);
  CHECK(scores.fraction_of_optimum(-0.25) == 0.5);
  CHECK(scores.excess(-0.25) == 0.5);
  const Landscape zero = build({0.0, 3.0});
  CHECK(zero.fraction_of_optimum(0) == 1);
  CHECK(zero.fraction_of_optimum(3) == 0);
  CHECK(zero.excess(3) == 3);
}

}  // namespace
}  // namespace fatune
