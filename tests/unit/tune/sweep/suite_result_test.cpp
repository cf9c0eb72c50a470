// suite_result_test.cpp: Compares the best with the best baseline, problem by problem.
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
using test::SweepFixture;
using test::toy_device;

FinalRecord row(const std::string& impl, RowRole role, double hot_us) {
  FinalRecord record;
  record.impl = impl;
  record.role = role;
  record.problem = test::test_problem();
  record.hot = record.cold = Timing{};
  record.hot->median_us = hot_us;
  record.cold->median_us = 2 * hot_us;
  for (int i = 0; i < 20; ++i)
    record.hot_rounds_us.push_back(hot_us * (1 + 0.001 * ((i * 7) % 20 - 9.5)));
  return record;
}

FinalRecord unavailable(const std::string& impl) {
  FinalRecord record = row(impl, RowRole::kBaseline, 1);
  record.hot.reset();
  record.cold.reset();
  record.hot_rounds_us.clear();
  record.outcome = Outcome::kUnavailable;
  record.reason = "install it";
  return record;
}

BenchResult bench(std::vector<BenchProblem> problems) {
  BenchResult result;
  result.environment = FakeEvaluator(toy_device()).environment();
  result.command = "fatune bench --suite mission";
  result.date = "2026-01-31";
  result.suite = "mission";
  result.problems = std::move(problems);
  return result;
}

Json suite_document(const BenchResult& result) { return to_json(suite_table(result)); }

TEST_CASE("the fastest correct baseline is the one to beat") {
  FinalRecord mine = row("python:mine:attend", RowRole::kBaseline, 20);
  mine.hot_rounds_us.resize(12);
  FinalRecord wrong = row("cudnn", RowRole::kBaseline, 1);
  wrong.outcome = Outcome::kWrongResult;
  wrong.reason = "NaN";
  const NamedProblem problem{"mission", test::test_problem()};
  const Json json = suite_document(
      bench({{problem,
              {row("fatune:toy", RowRole::kFinalist, 10), wrong,
               row("naive", RowRole::kBaseline, 400), mine, unavailable("torch:flash")},
              ""}}));
  CHECK(json.at("schema") == "fatune.suite/1");
  CHECK(json.at("date") == "2026-01-31");
  const Json& only = json.at("problems").at(0);
  CHECK(only.at("problem").at("mask") == "none");
  CHECK(only.at("label") == "mission 4,8,512,64 f16");
  CHECK(only.at("best").at("hot").at("median_us") == 10.0);
  CHECK(only.at("best_baseline") == "python:mine:attend");
  CHECK(only.at("baselines").at(2).at("impl") == "python:mine:attend");
  const Json& flash = only.at("baselines").at(3);
  CHECK(flash.at("impl") == "torch:flash");
  CHECK(flash.at("outcome") == "unavailable");
  CHECK(flash.at("reason") == "install it");
  CHECK_FALSE(flash.contains("hot"));
  CHECK(only.at("ratio").get<double>() == Approx(0.5));
  CHECK(only.at("ci95").at(0).get<double>() < 0.5);
  CHECK(only.at("ci95").at(1).get<double>() > 0.5);
  CHECK(only.at("comparison") == "faster");
  CHECK(only.at("verdict") == "Excellent");
  CHECK(json.at("geomean_ratio").get<double>() == Approx(0.5));
}

TEST_CASE("what cannot be compared is absent, and the mean leaves it out") {
  const NamedProblem problem{"mission", test::test_problem()};
  FinalRecord broken = row("fatune:toy", RowRole::kFinalist, 10);
  broken.outcome = Outcome::kTimeout;
  const Json json = suite_document(
      bench({{problem,
              {row("fatune:toy", RowRole::kFinalist, 10), row("cudnn", RowRole::kBaseline, 12.5)},
              ""},
             {problem, {row("fatune:toy", RowRole::kFinalist, 10), unavailable("cudnn")}, ""},
             {problem, {broken, row("cudnn", RowRole::kBaseline, 10)}, ""},
             {problem, {}, "the recording does not hold it"}}));
  CHECK(json.at("problems").at(0).at("verdict") == "Good");
  CHECK_FALSE(json.at("problems").at(1).contains("ratio"));
  CHECK_FALSE(json.at("problems").at(1).contains("best_baseline"));
  CHECK(json.at("problems").at(2).at("best").is_null());
  CHECK(json.at("problems").at(3).at("reason") == "the recording does not hold it");
  CHECK(json.at("geomean_ratio").get<double>() == Approx(0.8));
  CHECK(suite_document(bench({})).at("geomean_ratio").is_null());
}

TEST_CASE("a baseline with few values gives a ratio without interval") {
  FinalRecord few = row("cudnn", RowRole::kBaseline, 20);
  few.hot_rounds_us.resize(5);
  const Json json = suite_document(
      bench({{{"m", test::test_problem()}, {row("fatune:toy", RowRole::kFinalist, 10), few}, ""}}));
  CHECK(json.at("problems").at(0).at("ratio") == 0.5);
  CHECK_FALSE(json.at("problems").at(0).contains("ci95"));
  CHECK_FALSE(json.at("problems").at(0).contains("comparison"));
}

TEST_CASE("a sweep of a suite, of one problem too, writes suite.json, one of a shape does not") {
  SweepFixture fixture;
  fixture.options.date = "2026-01-31";
  FakeEvaluator evaluator(toy_device());
  auto& problems = fixture.options.plan.problems;
  problems.front().name.clear();
  fixture.run_well(evaluator);
  CHECK_FALSE(std::filesystem::exists(fixture.options.out / "suite.json"));

  fixture.options.out = fixture.folder / "suite of one";
  problems.front().name = "one";
  fixture.run_well(evaluator);
  CHECK(std::filesystem::exists(fixture.options.out / "suite.json"));

  fixture.options.out = fixture.folder / "suite";
  problems.push_back({"again", test::test_problem()});
  problems.back().problem.as_attention().batch = 2;
  fixture.run_well(evaluator);
  const auto json = load_json(fixture.options.out / "suite.json");
  REQUIRE(json);
  REQUIRE(json->at("problems").size() == 2);
  CHECK(json->at("problems").at(1).at("name") == "again");
  CHECK(json->at("problems").at(1).at("best_baseline") == "naive");
  CHECK(json->at("date") == "2026-01-31");
}

}  // namespace
}  // namespace fatune
