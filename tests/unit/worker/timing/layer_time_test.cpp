// layer_time_test.cpp: Checks the cost of attention from alternating times, and their steadiness.
// The order of replays is tested for effects beyond noise.
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "worker/timing/layer.hpp"

namespace fatune {
namespace {

using Catch::Approx;

/// About `us`, within half a per cent.
std::vector<double> replays(double us) {
  std::vector<double> times;
  for (int i = 0; i < 10; ++i) times.push_back(us * (1 + 0.001 * (i % 5)));
  return times;
}

TEST_CASE("each time with attention counts less its neighbours without") {
  const LayerTimes even = layer_times(std::vector<double>{10, 16, 10, 17, 10});
  REQUIRE(even.turns.size() == 2);
  CHECK(even.turns[0].us == 6);
  CHECK(even.turns[1].us == 7);
  CHECK(even.without_us == 10);
  // Times under a clock that falls slowly.
  const LayerTimes falling = layer_times(std::vector<double>{10, 16.01, 10.02});
  REQUIRE(falling.turns.size() == 1);
  CHECK(falling.turns[0].us == Approx(6));
  CHECK(falling.turns[0].steady);
}

TEST_CASE("a turn is steady if the layer without attention takes as long behind it as before") {
  const LayerTimes moved = layer_times(std::vector<double>{100, 160, 100.4, 160, 101, 160, 101.4});
  REQUIRE(moved.turns.size() == 3);
  CHECK(moved.turns[0].steady);
  CHECK_FALSE(moved.turns[1].steady);
  CHECK(moved.turns[2].steady);
  CHECK_FALSE(layer_times(std::vector<double>{100, 160, 99.4}).turns[0].steady);
}

TEST_CASE("beside an attention that takes longer it may move by half a per cent of its time") {
  const auto steady = [](std::vector<double> in_turn_us) {
    return layer_times(in_turn_us).turns.front().steady;
  };
  CHECK(steady({100, 1100, 104}));
  CHECK_FALSE(steady({100, 1100, 106}));
  CHECK_FALSE(steady({100, 190, 100.6}));
}

TEST_CASE("a turn that is not steady is repeated, not for ever") {
  int taken = 0;
  const auto steady_from = [&](int first) {
    return [&taken, first]() -> Result<std::optional<LayerTurn>> {
      ++taken;
      return std::optional(LayerTurn{static_cast<double>(taken), taken >= first});
    };
  };
  SECTION("until it is") {
    const auto turn = steady_turn(steady_from(3));
    REQUIRE((turn && *turn));
    CHECK((*turn)->us == 3);
    CHECK((*turn)->steady);
  }
  SECTION("or six times") {
    const auto turn = steady_turn(steady_from(100));
    REQUIRE((turn && *turn));
    CHECK_FALSE((*turn)->steady);
    CHECK(taken == 6);
  }
  SECTION("but what has no turns, or fails, is asked once") {
    const bool fails = GENERATE(false, true);
    const auto turn = steady_turn([&]() -> Result<std::optional<LayerTurn>> {
      ++taken;
      if (fails) return device_error("gone");
      return std::optional<LayerTurn>{};
    });
    CHECK(static_cast<bool>(turn) == !fails);
    CHECK(taken == 1);
  }
}

TEST_CASE("replays that take as long in turn as in a row are no finding") {
  CHECK(order_finding(replays(20), replays(20), 42).empty());
  CHECK(order_finding(replays(20.05), replays(20), 42).empty());
}

TEST_CASE("replays that another's make slower, or faster, are a finding") {
  CHECK(order_finding(replays(21), replays(20), 42) ==
        "order: it takes 1.048 to 1.052 times as long in turn with others as behind itself");
  CHECK_FALSE(order_finding(replays(19), replays(20), 42).empty());
}

}  // namespace
}  // namespace fatune
