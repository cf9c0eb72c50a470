// confirmation_test.cpp - which config GPUs agree on, and when they agree on none.
#include "tune/sweep/confirmation.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

namespace fatune {
namespace {

constexpr const char* kFirst = "1111111111111111";
constexpr const char* kSecond = "2222222222222222";
constexpr const char* kThird = "3333333333333333";

/// Forty rounds that differ by 0.1 %.
FinalRecord row(const std::string& id, double us, const std::string& role = "finalist") {
  FinalRecord record;
  record.id = id;
  record.role = role;
  record.impl = role == "baseline" ? "cudnn" : "fatune:toy";
  record.hot = Timing{.median_us = us};
  for (int round = 0; round < 40; ++round)
    record.hot_rounds_us.push_back(us * (1 + 0.001 * (round % 3 - 1)));
  return record;
}

PhaseOnGpu phase(const std::string& uuid, std::vector<FinalRecord> finals) {
  PhaseOnGpu made{{}, std::move(finals)};
  made.environment.device_uuid = uuid;
  return made;
}

std::optional<FleetWinner> agreed(const std::vector<PhaseOnGpu>& phases) {
  return agree(phases, "hot", 42);
}

TEST_CASE("the config that loses least on any GPU wins, whoever searched") {
  const PhaseOnGpu a = phase("A", {row(kFirst, 100), row(kSecond, 102), row(kThird, 101)});
  const PhaseOnGpu b = phase("B", {row(kFirst, 110), row(kSecond, 100), row(kThird, 104)});
  for (const auto& phases : {std::vector{a, b}, std::vector{b, a}}) {
    const auto winner = agreed(phases);
    REQUIRE(winner);
    CHECK(winner->id == kSecond);  // the third was best on no GPU, so met no edge problem
    CHECK_THAT(winner->worst, Catch::Matchers::WithinAbs(1.02, 1e-9));
    CHECK_THAT(winner->spread, Catch::Matchers::WithinAbs(0.02, 1e-9));
    CHECK(winner->gpus[0].environment.device_uuid == phases[0].environment.device_uuid);
    CHECK(winner->gpus[0].winner != winner->gpus[1].winner);
  }
}

TEST_CASE("what was timed again was the fastest of its GPU, whatever the others' rounds say") {
  FinalRecord again = row(kFirst, 101);
  again.timed_again = true;
  const auto winner = agreed(
      {phase("A", {row(kSecond, 100), again}), phase("B", {row(kFirst, 50), row(kSecond, 51)})});
  REQUIRE(winner);
  CHECK(winner->id == kFirst);
  CHECK_THAT(winner->worst, Catch::Matchers::WithinAbs(1, 1e-9));
}

TEST_CASE("each GPU compares with its own baseline") {
  const auto winner = agreed({phase("A", {row(kFirst, 100), row("", 200, "baseline")}),
                              phase("B", {row(kFirst, 100), row("", 400, "baseline")}),
                              phase("C", {row(kFirst, 100)})});
  REQUIRE(winner);
  CHECK_THAT(winner->gpus[0].to_baseline->value, Catch::Matchers::WithinAbs(0.5, 1e-9));
  CHECK_THAT(winner->gpus[1].to_baseline->value, Catch::Matchers::WithinAbs(0.25, 1e-9));
  CHECK_FALSE(winner->gpus[2].to_baseline);
}

TEST_CASE("a config that is wrong on one GPU wins on none") {
  FinalRecord wrong = row(kFirst, 90);
  wrong.outcome = Outcome::kWrongResult;
  const auto winner = agreed(
      {phase("A", {row(kFirst, 90), row(kSecond, 100)}), phase("B", {wrong, row(kSecond, 100)})});
  REQUIRE(winner);
  CHECK(winner->id == kSecond);
  CHECK_THAT(winner->worst, Catch::Matchers::WithinAbs(100 / 90.0, 1e-9));
  CHECK_FALSE(agreed({phase("A", {row(kFirst, 90)}), phase("B", {wrong, row(kSecond, 100)})}));
}

}  // namespace
}  // namespace fatune
