// gate_report_test.cpp: Tests a gate's tables as text and as Markdown.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "report/text/comparison_text.hpp"

namespace fatune {
namespace {

FinalRecord timed(const std::string& impl, double median_us) {
  FinalRecord record;
  record.impl = impl;
  record.hot = Timing{};
  record.hot->median_us = median_us;
  record.hot->ci95_low_us = median_us - 0.01;
  record.hot->ci95_high_us = median_us + 0.01;
  return record;
}

GateResult example() {
  GateRow flash;
  flash.baseline = timed("torch:flash", 12.5);
  flash.ratio = Ratio{0.8, 0.79, 0.81};
  flash.comparison = "faster";
  flash.verdict = "Good";
  flash.passed = true;
  GateRow cudnn;
  cudnn.baseline.impl = "cudnn";
  cudnn.baseline.outcome = Outcome::kUnavailable;
  cudnn.reason = "cudnn is unavailable: install cuDNN 9";
  GateRow saved;
  saved.baseline = timed("fatune:toy", 10);
  saved.source = "main.json";
  saved.ratio = Ratio{1.0, 0.99, 1.01};
  saved.comparison = "tie";
  saved.verdict = "Parity";
  GateProblem problem;
  problem.problem = {"mission", *parse_shape("4,8,512,64")};
  problem.candidate = timed("fatune:toy", 10);
  problem.candidate.config = {{"TILE", 64}};
  problem.rows = {flash, cudnn, saved};
  GateResult result;
  result.environment.device_name = "Formula 1";
  result.environment.driver = "1.0";
  result.environment.limits.arch = {90, 'a'};
  result.command = "fatune gate --candidate best.json";
  result.rounds = 40;
  result.problems = {problem};
  return result;
}

TEST_CASE("a gate's text has a row for each baseline and the reasons below") {
  CHECK(gate_report(example(), Paint(Colour::kNone, 120)) ==
        R"(mission 4,8,512,64 f16 on Formula 1 (sm_90a)
candidate: fatune:toy TILE=64, 10.00 us hot [9.99, 10.01]
baseline                         hot us            95 %  ratio            95 %  candidate is  verdict  gate
-------------------------------  ------  --------------  -----  --------------  ------------  -------  ----
torch:flash                       12.50  [12.49, 12.51]  0.800  [0.790, 0.810]  faster        Good     pass
cudnn                                 -               -      -               -  unavailable   -        FAIL
fatune:toy (saved in main.json)   10.00   [9.99, 10.01]  1.000  [0.990, 1.010]  tie           Parity   FAIL
cudnn is unavailable: install cuDNN 9

Gate: fail (the whole 95 % interval of candidate/baseline must be below 0.95)
)");
  // 80 columns have no room for the baselines' intervals and the verdict.
  CHECK(gate_report(example()).find(
            "\nfatune:toy (saved in            10.00  1.000  [0.990, 1.010]  tie           FAIL\n"
            "main.json)\n") != std::string::npos);
}

TEST_CASE("a saved baseline that is of a recording says so") {
  GateResult result = example();
  result.problems.front().rows.back().baseline.recorded = true;
  CHECK(gate_report(result, Paint(Colour::kNone, 120))
            .find("fatune:toy (saved in main.json, recorded)") != std::string::npos);
}

TEST_CASE("a suite's text adds the geometric means") {
  GateResult result = example();
  result.problems.push_back(result.problems.front());
  result.problems.back().reason = "the recording does not hold it";
  result.problems.back().rows.clear();
  result.means = {{"torch:flash", 0.8, 1}};
  result.passed = true;
  const std::string text = gate_report(result);
  CHECK(text.find("not measured: the recording does not hold it\n") != std::string::npos);
  CHECK(text.find("x torch:flash, geometric mean of 1 problem: 0.800\nGate: pass") !=
        std::string::npos);
}

TEST_CASE("a gate's Markdown is one table for a comment") {
  const std::string text = gate_markdown(example());
  CHECK(text.starts_with("### fatune gate: **fail**\n"));
  CHECK(text.find("| mission 4,8,512,64 f16 | fatune:toy | 10.00 | torch:flash | 12.50 | 0.800 | "
                  "[0.790, 0.810] | faster | pass |\n") != std::string::npos);
  CHECK(text.find("Not compared:\n\n- mission 4,8,512,64 f16: cudnn is unavailable") !=
        std::string::npos);
  CHECK(text.ends_with("`fatune gate --candidate best.json`\n"));
}

}  // namespace
}  // namespace fatune
