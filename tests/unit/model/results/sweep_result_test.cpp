// sweep_result_test.cpp: Checks selections from sweep results.
#include "model/results/sweep_result.hpp"

#include <catch2/catch_test_macros.hpp>

#include "sample_journal.hpp"

namespace fatune {
namespace {

FinalRecord final_with(RowRole role, Outcome outcome) {
  FinalRecord record;
  record.role = role;
  record.outcome = outcome;
  return record;
}

TEST_CASE("the best is the first finalist, if it is a candidate that passed") {
  ProblemResult result;
  CHECK(result.best() == nullptr);
  result.finals = {final_with(RowRole::kBaseline, Outcome::kMeasured)};
  CHECK(result.best() == nullptr);
  result.finals = {final_with(RowRole::kFinalist, Outcome::kWrongResult)};
  CHECK(result.best() == nullptr);
  result.finals = {final_with(RowRole::kDefault, Outcome::kMeasured)};
  CHECK(result.best() == &result.finals.front());
}

TEST_CASE("the objective picks its timing") {
  CandidateRecord record;
  record.cold = Timing{};
  CHECK_FALSE(searched_timing(record, search_time(Objective::kHot)));
  CHECK(searched_timing(record, search_time(Objective::kCold)));
  record.hot = Timing{.median_us = 2};
  CHECK(searched_timing(record, search_time(Objective::kInLayer))->median_us == 2);
  record.in_layer = Timing{.median_us = 3};
  CHECK(searched_timing(record, search_time(Objective::kInLayer))->median_us == 3);
}

TEST_CASE("times and objectives are words") {
  for (const Time time : kAllTimes) CHECK(*parse_time(name(time)) == time);
  CHECK(describe(Time::kInLayer) == "in layer");
  CHECK(parse_time("warm").error().message == "'warm' is not one of in_layer, plain, hot, cold");
  for (const std::string word : {"in_layer", "hot", "cold", "score"})
    CHECK(name(*parse_objective(word)) == word);
  CHECK(parse_objective("plain").error().message ==
        "'plain' is not one of in_layer, hot, cold, score");
}

/// Timed in 40 rounds, so many of them steady in a layer.
FinalRecord timed(RowRole role, double us, std::size_t steady = 40) {
  FinalRecord record = final_with(role, Outcome::kMeasured);
  record.hot = record.plain = Timing{.median_us = us};
  record.hot_rounds_us = record.plain_rounds_us = std::vector<double>(40, us);
  if (steady > 0) record.in_layer = Timing{.median_us = us + 1};
  record.in_layer_rounds_us = std::vector<double>(steady, us + 1);
  return record;
}

TEST_CASE("finals are compared in a layer where all candidates and the fastest baseline can be") {
  const FinalRecord best = timed(RowRole::kFinalist, 25'000),
                    naive = timed(RowRole::kBaseline, 900'000);
  CHECK(final_time({best, naive}) == Time::kInLayer);
  const FinalRecord faster = timed(RowRole::kBaseline, 20'000, 0),
                    slower = timed(RowRole::kBaseline, 30'000, 0);
  CHECK(final_time({best, faster, naive}) == Time::kPlain);
  CHECK(final_time({best, timed(RowRole::kBaseline, 26'000), slower}) == Time::kInLayer);
  CHECK(final_time({best, timed(RowRole::kDefault, 26'000, 9), naive}) == Time::kPlain);
  CHECK(final_time({best, faster}, Objective::kCold) == Time::kCold);
  // Programs launch plainly, so a search by hot times or by score is ranked by plain ones.
  CHECK(final_time({best, naive}, Objective::kHot) == Time::kPlain);
  CHECK(final_time({best, naive}, Objective::kScore) == Time::kPlain);
}

TEST_CASE("a journalled config reads like one that never was JSON") {
  CHECK(describe_config(Json{{"BLOCK_M", 64}, {"REDUCE", "warp"}, {"EXP2", true}}) ==
        "BLOCK_M=64 REDUCE=warp EXP2=true");
  CHECK(describe_config(Json::object()).empty());
}

}  // namespace
}  // namespace fatune
