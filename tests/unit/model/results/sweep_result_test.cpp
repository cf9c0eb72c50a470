// sweep_result_test.cpp - picks out of results.
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

TEST_CASE("a journalled config reads like one that never was JSON") {
  CHECK(describe_config(Json{{"BLOCK_M", 64}, {"REDUCE", "warp"}, {"EXP2", true}}) ==
        "BLOCK_M=64 REDUCE=warp EXP2=true");
  CHECK(describe_config(Json::object()).empty());
}

}  // namespace
}  // namespace fatune
