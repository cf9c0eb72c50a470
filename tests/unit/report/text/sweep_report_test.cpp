// sweep_report_test.cpp: Tests marks and special cases of the final text; tune/ tests the rest.
#include "report/text/sweep_report.hpp"

#include <catch2/catch_test_macros.hpp>

#include "sample_candidates.hpp"

namespace fatune {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

FinalRecord contestant(const std::string& impl, RowRole role, double median_us) {
  FinalRecord record;
  record.impl = impl;
  record.role = role;
  record.config = {{"TILE", 64}};
  record.problem = Attention{4, 8, 8, 512, 512, 64, Dtype::kF16, Mask::kNone};
  record.hot = Timing{};
  record.hot->median_us = median_us;
  record.hot->ci95_low_us = median_us * 0.99;
  record.hot->ci95_high_us = median_us * 1.01;
  return record;
}

SweepResult sample() {
  ProblemResult problem;
  problem.problem = {"mission", Attention{4, 8, 8, 512, 512, 64, Dtype::kF16, Mask::kNone}};
  problem.candidates = test::sample_candidates();
  problem.outcomes = {
      {Outcome::kMeasured, 3}, {Outcome::kCompileError, 1}, {Outcome::kWrongResult, 1}};
  problem.raw_points = 20;
  problem.valid_points = 12;
  problem.ruled_out = {{"TILE % 16 == 0", "whole fragments", 8}};
  problem.left_out = {"fa_rows: HEAD_DIM is too large"};
  problem.seconds = 3;
  problem.finals = {contestant("fatune:fa_mma", RowRole::kFinalist, 9.8),
                    contestant("naive", RowRole::kBaseline, 98)};
  problem.standings = {{Ratio{0.1, 0.09, 0.11}, "Excellent", false, {}},
                       {Ratio{1, 1, 1}, "Parity", false, {}}};
  problem.gate = Gate{"naive", {0.1, 0.09, 0.11}, 0.95, true};
  SweepResult result;
  result.environment.device_name = "Formula 1";
  result.environment.limits.arch = {90, 'a'};
  result.problems = {problem};
  result.folder = "run";
  return result;
}

TEST_CASE("a report says that others computed on the GPU while the best was measured") {
  SweepResult result = sample();
  Conditions& seen = result.problems.front().finals.front().conditions.emplace();
  CHECK(count(sweep_report(result), "on the GPU during") == 0);
  seen.other_processes = 1;
  CHECK(count(sweep_report(result), "another process computed on the GPU during") == 1);
  seen.other_processes = 2;
  CHECK(count(sweep_report(result), "2 other processes computed on the GPU during") == 1);
}

TEST_CASE("a report has headline, finalists, exclusions, outcomes, gate and paths") {
  CHECK(sweep_report(sample()) ==
        R"(mission 4,8,512,64 f16 on Formula 1 (sm_90a)

Tried: 5 of 12 valid configs in 3.0 s
candidates  outcome        for example
----------  -------------  ---------------------------
         1  compile_error  too many registers, it said
         1  wrong_result   margin 3.1
         3  measured
Warm starts: 0
left out: fa_rows: HEAD_DIM is too large

Finalists (final phase, interleaved rounds)
#  implementation  hot us            95 %  cold us  TFLOP/s  x naive  verdict
-  --------------  ------  --------------  -------  -------  -------  ---------
1  fatune:fa_mma    9.800  [9.702, 9.898]        -      219    0.100  Excellent
-  naive            98.00  [97.02, 98.98]        -     21.9        -  baseline

Configs (1 in full, others where they differ; margin: error over tolerance)
#  regs  shared  margin  config
-  ----  ------  ------  -------------
1     -       -       -  TILE=64
-     -       -       -  naive TILE=64

Gate: 0.100 [0.090, 0.110] of naive, limit 0.95: pass
Winner: fatune:fa_mma at 9.80 us hot, 219 TFLOP/s, 0.100x naive: Excellent

Best:    run/best.json
Journal: run/journal.jsonl
Next:
  fatune bench --config run
  fatune export run --to cubin -o out
  fatune report run -o report.html
)");
}

TEST_CASE("a wide terminal has every column") {
  const std::string text = sweep_report(sample(), Paint(Colour::kNone, 120));
  CHECK(
      count(text,
            "#  implementation  hot us            95 %  cold us  95 %  TFLOP/s  x naive            "
            "95 %  verdict\n") == 1);
}

TEST_CASE("only the parameters that differ from the winner's are shown") {
  SweepResult result = sample();
  ProblemResult& problem = result.problems.front();
  problem.finals.front().config = {{"TILE", 64}, {"WARPS", 4}};
  problem.finals.insert(problem.finals.begin() + 1,
                        contestant("fatune:fa_mma", RowRole::kDefault, 9.9));
  problem.finals[1].config = {{"TILE", 64}, {"WARPS", 8}};
  problem.standings.insert(problem.standings.begin() + 1,
                           {Ratio{0.1, 0.09, 0.11}, "Good", false, {}});
  const std::string text = sweep_report(result);
  CHECK(count(text, "  TILE=64 WARPS=4\n") == 1);
  CHECK(count(text, "  WARPS=8 (default)\n") == 1);
}

TEST_CASE("under finalists of one kernel stands what differs from the first of them") {
  SweepResult result = sample();
  ProblemResult& problem = result.problems.front();
  problem.finals.front().config = {{"TILE", 64}, {"WARPS", 4}};
  for (const int warps : {8, 16}) {
    const auto at = problem.finals.end() - 1;
    problem.finals.insert(at, contestant("fatune:fa_mma", RowRole::kFinalist, 10))->config = {
        {"TILE", 64 + warps}, {"WARPS", warps}};
    problem.standings.insert(problem.standings.end() - 1,
                             {Ratio{0.1, 0.09, 0.11}, "Good", false, {}});
  }
  const std::string text = sweep_report(result);
  CHECK(count(text, R"(
1  fatune:fa_mma    9.800  [9.702, 9.898]        -      219    0.100  Excellent
2  fatune:fa_mma    10.00   [9.90, 10.10]        -      215    0.100  Good
     TILE=72 WARPS=8
3  fatune:fa_mma    10.00   [9.90, 10.10]        -      215    0.100  Good
     TILE=80 WARPS=16
-  naive            98.00  [97.02, 98.98]        -     21.9        -  baseline
)") == 1);
}

TEST_CASE("every table says when correctness was not checked") {
  SweepResult result = sample();
  CHECK(count(sweep_report(result), "CORRECTNESS NOT CHECKED") == 0);
  result.plan.skip_correctness = true;
  CHECK(count(sweep_report(result), "CORRECTNESS NOT CHECKED (--skip-correctness)") == 4);
}

TEST_CASE("a recorded device is named as such in the headline") {
  SweepResult result = sample();
  result.environment.recorded = true;
  CHECK(count(sweep_report(result), "Formula 1 (sm_90a, recorded)") == 1);
}

TEST_CASE("without a correct candidate the report says so and names no best.json") {
  SweepResult result = sample();
  result.problems.front().finals.clear();
  result.problems.front().standings.clear();
  result.problems.front().gate.reset();
  const std::string text = sweep_report(result);
  CHECK(count(text, "no correct candidate\n") == 1);
  CHECK(count(text, "best.json") == 0);
  result.interrupted = true;
  CHECK(count(sweep_report(result), "interrupted before the final phase; best so far: fa_mma, ") ==
        1);
  CHECK(count(sweep_report(result), "Tried: 5 configs in 3.0 s\n") == 1);
}

TEST_CASE("a finalist that fails the last gates is shown with its outcome") {
  SweepResult result = sample();
  result.problems.front().finals.front().outcome = Outcome::kWrongResult;
  result.problems.front().standings.front() = {};
  const std::string text = sweep_report(result);
  CHECK(count(text, "no candidate passed the final phase") == 1);
  CHECK(count(text, "wrong_result") == 3);
  CHECK(count(text, "  fatune:fa_mma TILE=64: wrong_result\n") == 1);
}

TEST_CASE("a baseline that could not run is a row, and why not stands below") {
  SweepResult result = sample();
  ProblemResult& problem = result.problems.front();
  FinalRecord absent;
  absent.impl = "cudnn";
  absent.role = RowRole::kBaseline;
  absent.outcome = Outcome::kUnavailable;
  absent.reason = "there is no libcudnn.so.9\nplaces tried: many";
  problem.finals.push_back(absent);
  problem.standings.emplace_back();
  const std::string text = sweep_report(result);
  CHECK(count(text, "  unavailable\n") == 1);
  CHECK(count(text, "  cudnn: unavailable, there is no libcudnn.so.9\n") == 1);
  CHECK(count(text, "places tried") == 0);
}

TEST_CASE("a second baseline is compared with the fastest, and says what it ran") {
  SweepResult result = sample();
  ProblemResult& problem = result.problems.front();
  problem.finals.back().impl = "cudnn";
  problem.finals.back().config = nullptr;
  problem.finals.back().detail = "cuDNN 9.10, plan 2 of 5";
  problem.gate->baseline = "cudnn";
  problem.finals.push_back(contestant("naive", RowRole::kBaseline, 294));
  problem.standings.push_back({Ratio{3, 2.9, 3.1}, "Regression", false, {}});
  const std::string text = sweep_report(result);
  CHECK(count(text, "  x cudnn  ") == 1);
  CHECK(count(text, "    3.000  baseline\n") == 1);
  CHECK(count(text, "  cudnn: cuDNN 9.10, plan 2 of 5\n") == 1);
  problem.gate.reset();
  CHECK(count(sweep_report(result), "  x cudnn  ") == 1);
}

TEST_CASE("a run of several problems ends with all of them, and with what their ratios lack") {
  SweepResult result = sample();
  CHECK(count(sweep_report(result), "Final phases") == 0);
  result.problems.push_back(result.problems.front());
  ProblemResult& second = result.problems.back();
  second.problem.name = "wide";
  second.gate->ratio = {0.4, 0.39, 0.41};
  second.finals.push_back(contestant("fa4", RowRole::kBaseline, 0));
  second.finals.back().hot.reset();
  second.finals.back().outcome = Outcome::kUnavailable;
  second.finals.back().reason = "python3 has no FlashAttention-4\nand so on";
  second.standings.push_back({});
  result.problems.push_back(second);  // its final phase is to come
  result.problems.back().finals.clear();
  result.problems.back().standings.clear();
  const std::string text = sweep_report(result);
  CHECK(count(text, R"(
Final phases
problem  best  hot us  baseline  ratio  SOL score
-------  ----  ------  --------  -----  ---------
mission          9.80  naive     0.100
wide             9.80  naive     0.400
Geometric mean of 2 ratios: 0.200
Without fa4 at 1 of 2 problems: unavailable, python3 has no FlashAttention-4
fast_0 1.000, fast_0.5 1.000, fast_0.8 1.000, fast_1 1.000, fast_1.5 1.000,
  fast_2 1.000 (right, and more than p times as fast as the baseline; of 2
  problems)

Best:    run/best.json
)") == 1);
}

}  // namespace
}  // namespace fatune
