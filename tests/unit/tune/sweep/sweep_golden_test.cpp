// sweep_golden_test.cpp: Compares a whole sweep with exact text: report and best.json.
#include <catch2/catch_test_macros.hpp>

#include "report/text/sweep_report.hpp"
#include "support/golden.hpp"
#include "sweep_fixture.hpp"

namespace fatune {
namespace {

TEST_CASE("a sweep's report and best.json are the approved ones") {
  test::SweepFixture fixture;
  test::FakeEvaluator evaluator(test::toy_device());
  SweepResult result = fixture.run_well(evaluator);
  test::check_golden("tune/best.json", fixture.text("best.json"));
  result.folder = "run";
  test::check_golden("tune/report.txt", sweep_report(result));
}

}  // namespace
}  // namespace fatune
