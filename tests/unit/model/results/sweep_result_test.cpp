// sweep_result_test.cpp: Checks selections from sweep results.
#include "model/results/sweep_result.hpp"

#include <catch2/catch_test_macros.hpp>

#include "sample_journal.hpp"

namespace fatune {
namespace {

FinalRecord final_with(const std::string& role, Outcome outcome) {
  FinalRecord record;
  record.role = role;
  record.outcome = outcome;
  return record;
}

TEST_CASE("the best is the first finalist, if it is a candidate that passed") {
  ProblemResult result;
  CHECK(result.best() == nullptr);
  result.finals = {final_with("baseline", Outcome::kMeasured)};
  CHECK(result.best() == nullptr);
  result.finals = {final_with("finalist", Outcome::kWrongResult)};
  CHECK(result.best() == nullptr);
  result.finals = {final_with("default", Outcome::kMeasured)};
  CHECK(result.best() == &result.finals.front());
}

TEST_CASE("the objective picks its timing") {
  CandidateRecord record;
  record.cold = Timing{};
  CHECK_FALSE(objective_timing(record, "hot"));
  CHECK(objective_timing(record, "cold"));
}

/// Timed in 40 rounds, so many of them steady in a layer.
FinalRecord timed(const std::string& role, double us, std::size_t steady = 40) {
  FinalRecord record = final_with(role, Outcome::kMeasured);
  record.hot = record.plain = Timing{.median_us = us};
  record.hot_rounds_us = record.plain_rounds_us = std::vector<double>(40, us);
  if (steady > 0) record.in_layer = Timing{.median_us = us + 1};
  record.in_layer_rounds_us = std::vector<double>(steady, us + 1);
  return record;
}

TEST_CASE("finals are compared in a layer where all candidates and the fastest baseline can be") {
  const FinalRecord best = timed("finalist", 25'000), naive = timed("baseline", 900'000);
  CHECK(final_time({best, naive}, "in_layer") == "in_layer");
  const FinalRecord faster = timed("baseline", 20'000, 0), slower = timed("baseline", 30'000, 0);
  CHECK(final_time({best, faster, naive}, "in_layer") == "plain");
  CHECK(final_time({best, timed("baseline", 26'000), slower}, "in_layer") == "in_layer");
  CHECK(final_time({best, timed("default", 26'000, 9), naive}, "in_layer") == "plain");
  CHECK(final_time({best, faster}, "cold") == "cold");
}

TEST_CASE("a journalled config reads like one that never was JSON") {
  CHECK(describe_config(Json{{"BLOCK_M", 64}, {"REDUCE", "warp"}, {"EXP2", true}}) ==
        "BLOCK_M=64 REDUCE=warp EXP2=true");
  CHECK(describe_config(Json::object()).empty());
}

}  // namespace
}  // namespace fatune
