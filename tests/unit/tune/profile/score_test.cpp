// score_test.cpp: Checks the composite score, also with missing measurements.
#include "tune/profile/score.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace fatune;
using Catch::Approx;

namespace {

ScoreInputs complete() {
  ScoreInputs inputs;
  inputs.candidate_us = 8;
  inputs.sdpa_us = 10;
  inputs.tensor_pct = 60;
  inputs.sm_busy_pct = 70;
  inputs.syncs = 4;
  inputs.registers = 168;
  inputs.spill_bytes = 16;
  return inputs;
}

}  // namespace

TEST_CASE("the score is the sum of its terms") {
  const CompositeScore score = composite_score(complete());
  CHECK(score.value == Approx(1250 + 120 + 70 - 4 - 4 - 4));
  CHECK(score.absent.empty());
}

TEST_CASE("registers up to 128 cost nothing") {
  ScoreInputs inputs = complete();
  inputs.registers = 96;
  CHECK(composite_score(inputs).value == Approx(1250 + 120 + 70 - 4 - 4));
}

TEST_CASE("what was not measured is no term, and is named") {
  ScoreInputs inputs;
  inputs.candidate_us = 8;
  inputs.sdpa_us = 8;
  const CompositeScore score = composite_score(inputs);
  CHECK(score.value == Approx(1000));
  CHECK(score.absent ==
        std::vector<std::string>{"tensor_pct", "sm_busy", "syncs", "registers", "spills"});
}

TEST_CASE("a term that one candidate lacks counts for none of them") {
  ScoreInputs without = complete();
  without.tensor_pct.reset();
  const auto scores = comparable_scores({complete(), without});
  REQUIRE(scores.size() == 2);
  CHECK(scores[0].value == Approx(scores[1].value));
  CHECK(scores[0].absent == std::vector<std::string>{"tensor_pct"});
}
