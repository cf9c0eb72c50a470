// gate_test.cpp: Checks gate decisions: faster, tie, slower, and all failures.
#include <cmath>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "sweep_fixture.hpp"
#include "tune/sweep/comparison.hpp"

namespace fatune {
namespace {

using Catch::Approx;
using test::FakeEvaluator;
using test::toy_device;

const NamedProblem kProblem{"mission", test::test_problem()};

FinalRecord timed(const std::string& impl, double median_us, double spread = 0.01) {
  FinalRecord record;
  record.impl = impl;
  record.role = RowRole::kBaseline;
  record.problem = kProblem.problem;
  for (int i = 0; i < 21; ++i) {
    const double wobble = ((i * 8 + static_cast<int>(impl.size())) % 21 - 10) / 10.0;
    record.hot_rounds_us.push_back(median_us * (1 + spread * wobble));
  }
  return record;
}

FinalRecord failed(const std::string& impl, Outcome outcome, const std::string& reason) {
  FinalRecord record = timed(impl, 10);
  record.outcome = outcome;
  record.reason = reason;
  record.hot_rounds_us.clear();
  return record;
}

GateProblem decide(const FinalRecord& candidate, const std::vector<GateBaseline>& baselines) {
  auto decision = decide_gate(kProblem, candidate, baselines, {});
  if (!decision) FAIL(decision.error().message);
  return *std::move(decision);
}

/// Returns a question about two toy configs, as the command line makes it.
GateQuestion question(const std::string& candidate, const std::string& baseline) {
  const KernelRef kernel = test::toy_kernel();
  const auto contestant = [&](const std::string& config, RowRole role) {
    const auto json = parse_json(config, "a test");
    REQUIRE(json);
    auto parsed = config_from_json(kernel->manifest, *json, "a test");
    REQUIRE(parsed);
    return Implementation{"fatune:toy", role, {kernel, *parsed, kProblem.problem}, {}};
  };
  return {kProblem,
          contestant(candidate, RowRole::kFinalist),
          {contestant(baseline, RowRole::kBaseline)},
          {}};
}

Implementation from_elsewhere(const std::string& impl) {
  return {impl, RowRole::kBaseline, {nullptr, {}, kProblem.problem}, OutsideProgram{impl, {}}};
}

constexpr const char* kBest = R"({"TILE":64,"WARPS":4,"STAGES":2})";
constexpr const char* kPlain = R"({"TILE":32,"WARPS":4,"STAGES":1})";

TEST_CASE("a gate passes when the whole interval is below its threshold") {
  const GateProblem decision = decide(timed("x", 50), {{timed("torch:flash", 100), ""}});
  REQUIRE(decision.rows.size() == 1);
  const GateRow& row = decision.rows.front();
  REQUIRE(row.ratio);
  CHECK(row.ratio->value == Approx(0.5).epsilon(0.01));
  CHECK(row.ratio->low <= row.ratio->value);
  CHECK(row.ratio->value <= row.ratio->high);
  CHECK(row.paired);
  CHECK(row.comparison == "faster");
  CHECK(row.verdict == "Excellent");
  CHECK(row.passed);
  CHECK(decision.passed);
}

TEST_CASE("faster, but not by enough, is no pass") {
  const GateProblem decision = decide(timed("x", 97, 0.001), {{timed("cudnn", 100, 0.001), ""}});
  CHECK(decision.rows.front().comparison == "faster");
  CHECK_FALSE(decision.passed);
  const GateProblem wide = decide(timed("x", 94.9, 0.05), {{timed("cudnn", 100, 0.05), ""}});
  CHECK(wide.rows.front().ratio->high > 0.95);
  CHECK_FALSE(wide.passed);
}

TEST_CASE("an interval around 1 is a tie, above it slower") {
  const GateProblem tie = decide(timed("x", 100, 0.02), {{timed("cudnn", 100.1, 0.02), ""}});
  CHECK(tie.rows.front().comparison == "tie");
  CHECK(tie.rows.front().verdict == "Parity");
  CHECK_FALSE(tie.passed);
  const GateProblem slow = decide(timed("x", 120), {{timed("cudnn", 100), ""}});
  CHECK(slow.rows.front().comparison == "slower");
  CHECK(slow.rows.front().verdict == "Regression");
}

TEST_CASE("every baseline must be beaten") {
  const GateBaseline flash{timed("torch:flash", 60), ""}, math{timed("torch:math", 600), ""};
  CHECK(decide(timed("x", 50), {flash, math}).passed);
  const GateProblem one = decide(timed("x", 59), {flash, math});
  CHECK_FALSE(one.rows[0].passed);
  CHECK(one.rows[1].passed);
  CHECK_FALSE(one.passed);
  CHECK_FALSE(decide(timed("x", 50), {}).passed);
}

TEST_CASE("what is unavailable, wrong or short of rounds is no pass") {
  const GateProblem decision =
      decide(timed("x", 50), {{failed("cudnn", Outcome::kUnavailable, "no libcudnn.so.9"), ""},
                              {failed("torch:flash", Outcome::kWrongResult, "NaN at 7"), ""}});
  CHECK(decision.rows[0].reason == "cudnn is unavailable: no libcudnn.so.9");
  CHECK(decision.rows[1].reason == "torch:flash is wrong_result: NaN at 7");
  CHECK_FALSE(decision.rows[0].ratio);
  CHECK_FALSE(decision.passed);

  const GateProblem wrong =
      decide(failed("x", Outcome::kWrongResult, "off by one"), {{timed("cudnn", 100), ""}});
  CHECK(wrong.rows.front().reason == "x is wrong_result: off by one");
  CHECK_FALSE(wrong.passed);

  FinalRecord few = timed("python:mine:attend", 100);
  few.hot_rounds_us.resize(9);
  const GateProblem short_of = decide(timed("x", 50), {{few, ""}});
  CHECK(short_of.rows.front().reason ==
        "python:mine:attend (hot): has 9 samples; an interval needs at least 10");
  CHECK_FALSE(short_of.passed);
}

TEST_CASE("a sample that is no time is an error with its row, and its file if it was saved") {
  FinalRecord broken = timed("cudnn", 100);
  broken.hot_rounds_us[4] = std::nan("");
  const auto measured = decide_gate(kProblem, timed("x", 50), {{broken, ""}}, {});
  REQUIRE_FALSE(measured);
  CHECK(measured.error().message == "cudnn (hot): sample 5 of 21 is nan, which is no time");
  const auto saved = decide_gate(kProblem, timed("x", 50), {{broken, "main.json"}}, {});
  REQUIRE_FALSE(saved);
  CHECK(saved.error().kind == ErrorKind::kFile);
  CHECK(saved.error().message.starts_with("main.json: cudnn (hot)"));
}

TEST_CASE("rounds pair only when they belong together") {
  FinalRecord drifting = timed("x", 10), twice = timed("y", 20);
  for (std::size_t i = 0; i < 21; ++i) {
    drifting.hot_rounds_us[i] = 10 + 0.1 * static_cast<double>(i);
    twice.hot_rounds_us[i] = 2 * drifting.hot_rounds_us[i];
  }
  const auto width = [](const GateProblem& decision) {
    const Ratio& ratio = *decision.rows.front().ratio;
    return ratio.high - ratio.low;
  };
  const GateProblem same = decide(drifting, {{twice, ""}});
  const GateProblem other_run = decide(drifting, {{twice, "main.json"}});
  CHECK(same.rows.front().paired);
  CHECK(width(same) < 1e-12);
  CHECK_FALSE(other_run.rows.front().paired);
  CHECK(width(other_run) > 0.05);
  twice.hot_rounds_us.pop_back();
  CHECK_FALSE(decide(drifting, {{twice, ""}}).rows.front().paired);
}

TEST_CASE("a gate on the cold objective compares cold rounds") {
  FinalRecord a = timed("x", 10), b = timed("y", 100);
  a.cold_rounds_us.assign(21, 30.0);
  b.cold_rounds_us.assign(21, 20.0);
  GateRules rules;
  rules.time = Time::kCold;
  const auto decision = decide_gate(kProblem, a, {{b, ""}}, rules);
  REQUIRE(decision);
  CHECK(decision->rows.front().comparison == "slower");
}

TEST_CASE("a measured gate gives the same verdict again, and a tie for two copies") {
  FinalPlan plan;
  plan.rounds = 20;
  const auto run = [&](const char* candidate, const char* baseline) {
    FakeEvaluator evaluator(toy_device());
    auto result = run_gate({question(candidate, baseline)}, {}, plan, evaluator);
    if (!result) FAIL(result.error().message);
    return *std::move(result);
  };
  const GateResult first = run(kBest, kPlain), again = run(kBest, kPlain);
  CHECK(first.passed);
  CHECK(has_answer(first));
  CHECK(dump(to_json(first)) == dump(to_json(again)));
  const GateResult copies = run(kBest, kBest);
  CHECK(copies.problems.front().rows.front().comparison == "tie");
  CHECK_FALSE(copies.passed);
}

TEST_CASE("baselines from elsewhere compete, unavailable ones compare with nothing") {
  GateQuestion asked = question(kBest, kPlain);
  asked.baselines = {from_elsewhere("cudnn"), from_elsewhere("torch:flash")};
  test::FakeDevice device = toy_device();
  device.outside_us = [](const std::string& impl) -> std::optional<double> {
    if (impl == "cudnn") return std::nullopt;
    return 20;
  };
  FinalPlan plan;
  plan.rounds = 20;
  FakeEvaluator evaluator(device);
  const auto result = run_gate({asked}, {}, plan, evaluator);
  REQUIRE(result);
  const auto& rows = result->problems.front().rows;
  CHECK(rows[0].baseline.outcome == Outcome::kUnavailable);
  CHECK(rows[1].paired);
  CHECK(rows[1].passed);
  CHECK_FALSE(result->passed);
  CHECK(has_answer(*result));

  asked.baselines.pop_back();
  const auto nothing = run_gate({asked}, {}, plan, evaluator);
  REQUIRE(nothing);
  CHECK_FALSE(has_answer(*nothing));

  GateResult wrong = *nothing;
  wrong.problems.front().candidate.outcome = Outcome::kWrongResult;
  CHECK(has_answer(wrong));
}

TEST_CASE("a suite passes as a whole, with the geometric mean of each baseline") {
  GateQuestion wide = question(kBest, kPlain);
  wide.problem.name = "wide";
  FakeEvaluator evaluator(toy_device());
  FinalPlan plan;
  plan.rounds = 20;
  const auto result = run_gate({question(kBest, kPlain), wide}, {}, plan, evaluator);
  REQUIRE(result);
  CHECK(result->passed);
  REQUIRE(result->means.size() == 1);
  CHECK(result->means.front().problems == 2);
  CHECK(result->means.front().ratio == Approx(result->problems.front().rows.front().ratio->value));
  const auto mixed =
      run_gate({question(kBest, kPlain), question(kBest, kBest)}, {}, plan, evaluator);
  REQUIRE(mixed);
  CHECK_FALSE(mixed->passed);
  const Json json = to_json(*mixed);
  CHECK(json.at("problems").at(0).at("pass") == true);
  CHECK(json.at("problems").at(1).at("pass") == false);
  CHECK(json.at("pass") == false);
}

}  // namespace
}  // namespace fatune
