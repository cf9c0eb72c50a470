// sol_score_test.cpp: Checks scores against hand computations, and when a score is absent.
#include "model/results/sol_score.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "samples.hpp"

namespace fatune {
namespace {

using Catch::Approx;
using test::h200;

FinalRecord attention(const std::string& impl, RowRole role, double in_layer_us) {
  FinalRecord record;
  record.impl = impl;
  record.role = role;
  record.problem = Attention{4, 8, 8, 512, 512, 64, Dtype::kF16, Mask::kNone};
  record.in_layer = Timing{.median_us = in_layer_us};
  return record;
}

ProblemResult mission() {
  ProblemResult result;
  result.finals = {attention("fatune:fa_wgmma", RowRole::kFinalist, 7.0),
                   attention("torch:flash", RowRole::kBaseline, 20.0),
                   attention("cudnn", RowRole::kBaseline, 11.0)};
  result.gate = Gate{"cudnn", {7.0 / 11.0, 0.63, 0.64}, 0.95, true, Time::kInLayer};
  return result;
}

TEST_CASE("the score is 1 at the floor, 0.5 at the baseline, and falls towards 0") {
  CHECK(sol_score(Micros(2), Micros(10), Micros(2)) == 1.0);
  CHECK(sol_score(Micros(10), Micros(10), Micros(2)) == 0.5);
  CHECK(sol_score(Micros(6), Micros(10), Micros(2)) == Approx(8.0 / 12.0));
  CHECK(sol_score(Micros(802), Micros(10), Micros(2)) == Approx(8.0 / 808.0));
  // A layer may hide what the floor counts.
  CHECK(sol_score(Micros(1.9), Micros(10), Micros(2)) == 1.0);
}

TEST_CASE("a baseline at the floor or below leaves no score") {
  CHECK_FALSE(sol_score(Micros(3), Micros(2), Micros(2)));
  CHECK_FALSE(sol_score(Micros(3), Micros(1), Micros(2)));
}

TEST_CASE("a problem's score is of the time that ranks finals, and of the gate's baseline") {
  const auto sol = sol_score(mission(), Objective::kInLayer, h200());
  REQUIRE(sol);
  CHECK(sol->time == Time::kInLayer);
  CHECK(sol->floor.time.value == Approx(2.006).epsilon(1e-3));
  CHECK(sol->floor.why == "2.15 GFLOP at 1071 TFLOP/s");
  CHECK(sol->value == Approx((11 - 2.006) / (11 - 2.006 + 7 - 2.006)).epsilon(1e-3));
}

TEST_CASE("without a gate, a time of both or the device's peaks there is no score") {
  ProblemResult result = mission();
  CHECK_FALSE(sol_score(result, Objective::kInLayer, Environment()));
  result.finals.back().in_layer.reset();
  CHECK_FALSE(sol_score(result, Objective::kInLayer, h200()));
  result = mission();
  result.gate.reset();
  CHECK_FALSE(sol_score(result, Objective::kInLayer, h200()));
  result = mission();
  result.finals.front().outcome = Outcome::kWrongResult;
  CHECK_FALSE(sol_score(result, Objective::kInLayer, h200()));
}

}  // namespace
}  // namespace fatune
