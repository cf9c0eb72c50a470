// custom_operation_test.cpp: Sweeps a custom operation on a formula: journal, best, resume.
#include "support/custom_operation.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "report/text/cells.hpp"
#include "report/text/sweep_report.hpp"
#include "sweep_fixture.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune {
namespace {

using test::FakeDevice;
using test::FakeEvaluator;
using test::number;
using test::SweepFixture;

struct OwnFixture : SweepFixture {
  OwnFixture() {
    const auto own = test::custom_kernels();
    kernels = {own[0]};
    reference = own[1];
    options.plan.problems = {{"", test::custom_test_problem(512, 1024)}};
    options.plan.command = "fatune sweep --size ROWS=512,COLUMNS=1024";
    options.reference_is_baseline = true;
  }
  static FakeDevice device() {
    FakeDevice device;
    device.cost_us = [](const Config& config) {
      return 10 + std::abs(number(config, "THREADS") - 128) / 64 + number(config, "UNROLL");
    };
    return device;
  }
};

TEST_CASE("a sweep finds the best and compares it with the operation's reference") {
  OwnFixture fixture;
  FakeEvaluator evaluator(OwnFixture::device());
  const SweepResult result = fixture.run_well(evaluator);
  REQUIRE(result.problems.size() == 1);
  const FinalRecord* best = result.problems[0].best();
  REQUIRE(best != nullptr);
  CHECK(best->config == Json{{"THREADS", 128}, {"UNROLL", 1}});
  CHECK(result.problems[0].gate->baseline == "scale_reference");
  const Json file = *parse_json(fixture.text("best.json"), "best.json");
  REQUIRE(file["problems"].size() == 1);
  const Json& saved = file["problems"][0];
  CHECK(saved["problem"]["operation"] == "scale");
  CHECK(saved["problem"]["sizes"]["COLUMNS"] == 1024);
  CHECK(saved["best"].contains("tflops"));
  const auto loaded = load_best_file(fixture.options.out / "best.json");
  REQUIRE(loaded);
  CHECK(loaded->problems.front().problem == result.problems[0].problem.problem);
  CHECK(sweep_report(result).find("scale ROWS=512,COLUMNS=1024 f16 on") != std::string::npos);
}

TEST_CASE("a run that is resumed repeats nothing") {
  OwnFixture fixture;
  FakeEvaluator evaluator(OwnFixture::device());
  fixture.run_well(evaluator);
  FakeEvaluator again(OwnFixture::device());
  fixture.options.resume = true;
  fixture.run_well(again);
  CHECK(again.evaluated().empty());
  CHECK(again.finals_run() == 0);
}

TEST_CASE("another declaration is another plan") {
  OwnFixture fixture;
  FakeEvaluator evaluator(OwnFixture::device());
  fixture.run_well(evaluator);
  fixture.options.resume = true;
  const auto kernels =
      test::load_custom(test::changed(test::kCustomReference, "\"offset\": 1", "\"offset\": 2"));
  REQUIRE(kernels);
  fixture.kernels = {(*kernels)[0]};
  FakeEvaluator again(OwnFixture::device());
  const auto result = fixture.run(again);
  REQUIRE_FALSE(result);
  CHECK(result.error().message.find("is of another plan") != std::string::npos);
}

TEST_CASE("rates are of the least bytes where no flops are told") {
  FinalRecord record;
  record.problem = test::custom_test_problem();
  record.hot = Timing{.median_us = 1};
  CHECK(rate_name(record.problem) == "TFLOP/s");
  CHECK(rate_cell(record) == "0.1");
  record.problem.as_custom().flops = 0;
  CHECK(rate_name(record.problem) == "GB/s");
  CHECK(rate_cell(record) == "133");
}

TEST_CASE("of an operation's problems the nearest has the nearest sizes") {
  const Arch arch{90, 'a'};
  const Problem problem = test::custom_test_problem(512, 64);
  CHECK(distance(problem, arch, problem, arch) == 0);
  CHECK(distance(problem, arch, test::custom_test_problem(1024, 128), arch) == 2);
}

}  // namespace
}  // namespace fatune
