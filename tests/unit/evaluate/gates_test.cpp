// gates_test.cpp - hangs, outcomes and impossible times to the gates that decide them.
#include "evaluate/gates.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

namespace {

const Problem kProblem{
    .batch = 1, .heads = 2, .kv_heads = 2, .seq_q = 4, .seq_kv = 4, .head_dim = 8};

}  // namespace

TEST_CASE("a hang names the limit") {
  const Failure failure = hang_failure(std::chrono::milliseconds(2000));
  CHECK(failure.outcome == Outcome::kTimeout);
  CHECK(failure.fatal);
  CHECK(failure.reason.find("2.0 s") != std::string::npos);
}

TEST_CASE("an outcome tells the gate that decided it") {
  CHECK(gate_of(Outcome::kInfeasible, "BLOCK_M") == "constraints");
  CHECK(gate_of(Outcome::kCompileError, "error: x") == "compilation");
  CHECK(gate_of(Outcome::kLaunchError, "") == "launch");
  CHECK(gate_of(Outcome::kTimeout, "") == "launch");
  CHECK(gate_of(Outcome::kCrashed, "") == "launch");
  CHECK(gate_of(Outcome::kWrongResult, "accuracy: max: 3, limit 1") == "accuracy");
  CHECK(gate_of(Outcome::kWrongResult, "timed_output: launched once more, ...") == "timed_output");
  CHECK(gate_of(Outcome::kMeasured, "").empty());
}

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

TEST_CASE("what is missing here is unavailable, what cannot be done is infeasible") {
  const Failure missing = failure_of(environment_error("no libcudnn.so.9"), nullptr);
  CHECK(missing.outcome == Outcome::kUnavailable);
  CHECK(missing.reason == "no libcudnn.so.9");
  const Failure refused = failure_of(usage_error("head_dim 100 is not taken"), nullptr);
  CHECK(refused.outcome == Outcome::kInfeasible);
  CHECK_FALSE(refused.fatal);
}
