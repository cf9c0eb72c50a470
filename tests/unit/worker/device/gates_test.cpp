// gates_test.cpp - impossible times to the gate that decides them.
#include "worker/device/gates.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

namespace {

const Problem kWithoutLse{
    .batch = 1, .heads = 2, .kv_heads = 2, .seq_q = 4, .seq_kv = 4, .head_dim = 8};

}  // namespace

TEST_CASE("physics passes possible times, fails impossible ones, hot or cold") {
  const PhysicsFloor floor{{Micros(2.0), "why hot"}, {Micros(5.0), "why cold"}, ""};
  Verification passed;
  CHECK_FALSE(check_physics(floor, Micros(2.1), Micros(5.1), passed));
  CHECK(passed.gates == std::vector<std::string>{"physics"});
  Verification failed;
  const MaybeFailure hot = check_physics(floor, Micros(1.9), Micros(9), failed);
  REQUIRE(hot);
  CHECK(hot->outcome == Outcome::kWrongResult);
  CHECK(hot->reason.find("1.90 us hot") != std::string::npos);
  const MaybeFailure cold = check_physics(floor, std::nullopt, Micros(4.9), failed);
  REQUIRE(cold);
  CHECK(gate_of(cold->outcome, cold->reason) == kPhysicsGate);
  CHECK(failed.gates.empty());
}

TEST_CASE("without the device's facts physics is not run, never passed") {
  PhysicsFloor floor;
  floor.unknown = "the device does not tell its memory clock";
  Verification verification;
  CHECK_FALSE(check_physics(floor, Micros(0.001), Micros(0.001), verification));
  CHECK(verification.gates.empty());
  CHECK(verification.not_run ==
        std::vector<std::string>{"physics: the device does not tell its memory clock"});
}
