// sampler_test.cpp: Checks the launches of a replay, and that each round has every contestant once.
// The seed decides the order of a round.
#include "worker/timing/sampler.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

TEST_CASE("a replay lasts about 400 microseconds") {
  const SamplingPlan plan;
  CHECK(launches_per_replay(plan, Micros(10)) == 40);
  CHECK(launches_per_replay(plan, Micros(11)) == 37);
  CHECK(launches_per_replay(plan, Micros(5000)) == 1);
  CHECK(launches_per_replay(plan, Micros(0.1)) == 256);
  CHECK(launches_per_replay(plan, Micros(0)) == 256);
}

TEST_CASE("a round holds every contestant once") {
  const auto orders = shuffled_rounds(10, 40, 42);
  REQUIRE(orders.size() == 40);
  std::set<std::size_t> first_places;
  for (auto order : orders) {
    first_places.insert(order.front());
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);
  }
  CHECK(first_places.size() > 5);
}

TEST_CASE("the order depends on the seed alone") {
  CHECK(shuffled_rounds(6, 5, 1) == shuffled_rounds(6, 5, 1));
  CHECK(shuffled_rounds(6, 5, 1) != shuffled_rounds(6, 5, 2));
  CHECK(shuffled_rounds(0, 2, 1).size() == 2);
}
