// standing_test.cpp: Checks order, ties, ratios and the gate of a final phase.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tune/sweep/finals.hpp"

namespace fatune {
namespace {

constexpr std::uint64_t kSeed = 42;

/// Returns rounds that vary by `spread` around a median.
FinalRecord contestant(const std::string& id, double median_us, double spread, int registers = 64) {
  FinalRecord record;
  record.id = id;
  record.impl = "fatune:toy";
  record.role = RowRole::kFinalist;
  for (int i = 0; i < 21; ++i) {
    const double wobble = ((i * 8 + static_cast<int>(id.front())) % 21 - 10) / 10.0;
    record.hot_rounds_us.push_back(median_us * (1 + spread * wobble));
  }
  record.hot = Timing{};
  record.hot->median_us = median_us;
  record.resources = Resources{};
  record.resources->registers = registers;
  record.resources->threads = 128;
  return record;
}

FinalRecord baseline(double median_us) {
  FinalRecord record = contestant("z", median_us, 0.01);
  record.impl = "naive";
  record.role = RowRole::kBaseline;
  return record;
}

std::string order(const ProblemResult& result) {
  std::string ids;
  for (const FinalRecord& record : result.finals) ids += record.id;
  return ids;
}

ProblemResult settled(std::vector<FinalRecord> finals) {
  ProblemResult result;
  result.finals = std::move(finals);
  settle_finals(result, Objective::kHot, kSeed);
  return result;
}

TEST_CASE("under scores the highest wins, the others stay in order of time") {
  ProblemResult result;
  result.finals = {contestant("a", 10, 0.001), contestant("b", 11, 0.001),
                   contestant("c", 12, 0.001), baseline(100)};
  const Scoring scoring{{{"a", 900}, {"b", 880}, {"c", 950}}, "scored without sm_busy"};
  settle_finals(result, Objective::kScore, kSeed, scoring);
  CHECK(order(result) == "cabz");
  CHECK(result.standings[0].score == 950);
  CHECK(result.standings[1].score == 900);
  CHECK_FALSE(result.standings[3].score);
  CHECK(result.score_note == "scored without sm_busy");
  REQUIRE(result.gate);
  CHECK(result.gate->ratio.value == Catch::Approx(0.12));
}

TEST_CASE("contestants are ordered by time, failed ones last") {
  FinalRecord failed = contestant("f", 5, 0.001);
  failed.outcome = Outcome::kWrongResult;
  const auto result =
      settled({failed, contestant("b", 12, 0.001), baseline(100), contestant("a", 10, 0.001)});
  CHECK(order(result) == "abzf");
  CHECK(result.best()->id == "a");
  CHECK(result.standings.size() == 4);
  CHECK_FALSE(result.standings[3].to_baseline);
}

TEST_CASE("among those that tie, the smaller kernel is best") {
  const auto result = settled({contestant("a", 10.00, 0.05, 200), contestant("b", 10.01, 0.05, 100),
                               contestant("c", 11.5, 0.001, 32), baseline(100)});
  CHECK(order(result) == "bacz");
  CHECK_FALSE(result.standings[0].ties_with_best);
  CHECK(result.standings[1].ties_with_best);
  CHECK_FALSE(result.standings[2].ties_with_best);
}

TEST_CASE("a smaller kernel may cost next to nothing") {
  const auto alike =
      settled({contestant("a", 10.00, 0.05, 200), contestant("b", 10.019, 0.05, 100)});
  CHECK(order(alike) == "ba");
  const auto slower =
      settled({contestant("a", 10.00, 0.05, 200), contestant("b", 10.03, 0.05, 32)});
  CHECK(order(slower) == "ab");
  CHECK(slower.standings[1].ties_with_best);
}

TEST_CASE(
    "whoever was timed again was chosen before, and has no rounds in common with the others") {
  FinalRecord chosen = contestant("c", 10.5, 0.02, 200), others = baseline(100);
  chosen.timed_again = others.timed_again = true;
  const auto result = settled({contestant("a", 10.00, 0.02, 100), chosen, others});
  CHECK(order(result) == "caz");
  CHECK(pairing_in_phase(result.finals[0], result.finals[2], Time::kHot) == Pairing::kRounds);
  CHECK(pairing_in_phase(result.finals[0], result.finals[1], Time::kHot) == Pairing::kNone);
}

TEST_CASE("a clear winner wins whatever its size") {
  const auto result =
      settled({contestant("a", 10.00, 0.001, 200), contestant("b", 10.20, 0.001, 32)});
  CHECK(order(result) == "ab");
}

TEST_CASE("the gate needs the whole interval below its threshold") {
  const auto fast = settled({contestant("a", 50, 0.01), baseline(100)});
  REQUIRE(fast.gate);
  CHECK(fast.gate->baseline == "naive");
  CHECK(fast.gate->ratio.value == Catch::Approx(0.5).epsilon(0.01));
  CHECK(fast.gate->passed);
  CHECK(fast.standings.front().verdict == "Excellent");

  const auto near = settled({contestant("a", 94.9, 0.05), baseline(100)});
  REQUIRE(near.gate);
  CHECK(near.gate->ratio.high > 0.95);
  CHECK_FALSE(near.gate->passed);
}

TEST_CASE("a baseline faster than every candidate fails the gate and is not the best") {
  const auto result = settled({contestant("a", 120, 0.01), baseline(100)});
  CHECK(order(result) == "az");
  CHECK(result.best()->id == "a");
  REQUIRE(result.gate);
  CHECK_FALSE(result.gate->passed);
  CHECK(result.standings.front().verdict == "Regression");
}

TEST_CASE("without a baseline, rounds or candidates there is no gate") {
  CHECK_FALSE(settled({contestant("a", 10, 0.01)}).gate);
  FinalRecord few = baseline(100);
  few.hot_rounds_us.resize(9);
  CHECK_FALSE(settled({contestant("a", 10, 0.01), few}).gate);
  const auto only_baseline = settled({baseline(100)});
  CHECK_FALSE(only_baseline.gate);
  CHECK(only_baseline.best() == nullptr);
  CHECK(settled({}).standings.empty());
}

TEST_CASE("a baseline with fewer rounds is compared without pairs") {
  FinalRecord few = baseline(100);
  few.hot_rounds_us.resize(12);
  const auto result = settled({contestant("a", 50, 0.01), few});
  REQUIRE(result.gate);
  CHECK(result.gate->passed);
}

TEST_CASE("the cold objective compares cold rounds") {
  FinalRecord a = contestant("a", 10, 0.001), b = contestant("b", 11, 0.001);
  a.cold_rounds_us.assign(21, 30.0);
  b.cold_rounds_us.assign(21, 20.0);
  a.cold = b.cold = Timing{};
  a.cold->median_us = 30;
  b.cold->median_us = 20;
  ProblemResult result;
  result.finals = {a, b};
  settle_finals(result, Objective::kCold, kSeed);
  CHECK(order(result) == "ba");
}

}  // namespace
}  // namespace fatune
