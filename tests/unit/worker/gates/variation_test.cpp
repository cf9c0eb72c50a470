// variation_test.cpp: Checks which contestant fails when runs differ, and the notes.
#include <catch2/catch_test_macros.hpp>

#include "worker/gates/findings.hpp"

using namespace fatune;

namespace {

using Texts = std::vector<std::string>;

const GateFinding kFinding{GateId::kRepeat,
                           "4 of 32768 outputs differ between two runs, first at b=0"};
const Judgement kRight{.passed = true, .margin = 0.4, .worst_rule = "max", .reason = ""};
const Judgement kWrong{
    .passed = false, .margin = 3, .worst_rule = "max", .reason = "max: 3 over the limit"};

Verification all_gates() {
  return {.passed = true,
          .gates = {{GateId::kLaunch}, {GateId::kPoison}, {GateId::kAccuracy}, {GateId::kRepeat}}};
}

}  // namespace

TEST_CASE("a kernel whose runs differ fails by the gate that saw it, however right they are") {
  Variation variation(false);
  const MaybeFailure failure = variation.differs(kFinding, kRight);
  REQUIRE(failure);
  CHECK(failure->outcome == Outcome::kWrongResult);
  CHECK(failure->reason == describe(kFinding));
  CHECK_FALSE(failure->fatal);
}

TEST_CASE("of a program that may vary, right runs that differ are a note in place of the gate") {
  Variation variation(true);
  CHECK_FALSE(variation.differs(kFinding, kRight));
  CHECK_FALSE(
      variation.differs({GateId::kRepeat, "1 of 32768 outputs differ between two runs"}, kRight));
  Verification verification = all_gates();
  variation.note_in(verification);
  CHECK(verification.gates ==
        std::vector<PassedGate>{{GateId::kLaunch}, {GateId::kPoison}, {GateId::kAccuracy}});
  CHECK(verification.not_run == Texts{describe(kFinding) + "; each run was judged by itself"});
}

TEST_CASE("of a program that may vary, a wrong run is a failure") {
  Variation variation(true);
  const MaybeFailure failure = variation.differs(kFinding, kWrong);
  REQUIRE(failure);
  CHECK(gate_of(failure->outcome, failure->reason) == "accuracy");
  CHECK(failure->reason.find(kWrong.reason) != std::string::npos);
}

TEST_CASE("outputs that were never written are nobody's variation") {
  const GateFinding finding{GateId::kPoison, "64 of 128 outputs were never written, first at b=0"};
  Variation variation(true);
  const MaybeFailure failure = variation.differs(finding, kRight);
  REQUIRE(failure);
  CHECK(failure->reason == "poison: " + finding.what);
}

TEST_CASE("without a difference every gate stays passed") {
  Verification verification = all_gates();
  Variation(true).note_in(verification);
  CHECK(verification == all_gates());
}
