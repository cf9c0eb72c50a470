// failure_test.cpp: Checks which gate decides each hang, error and outcome.
#include "worker/device/failure.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

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
  CHECK(gate_of(Outcome::kWrongResult, "edge problem 1,1,17,64 f16: accuracy: x") == "accuracy");
  CHECK(gate_of(Outcome::kCompileError, "edge problem 1,1,17,64 f16: state: y") == "state");
  CHECK(gate_of(Outcome::kMeasured, "").empty());
}

TEST_CASE("what is missing here is unavailable, what cannot be done is infeasible") {
  const Failure missing = failure_of(environment_error("no libcudnn.so.9"), nullptr);
  CHECK(missing.outcome == Outcome::kUnavailable);
  CHECK(missing.reason == "no libcudnn.so.9");
  const Failure refused = failure_of(usage_error("head_dim 100 is not taken"), nullptr);
  CHECK(refused.outcome == Outcome::kInfeasible);
  CHECK_FALSE(refused.fatal);
}
