// confirm_test.cpp: Compares a saved time with a new one, and explains differences.
#include <catch2/catch_test_macros.hpp>

#include "support/test_kernels.hpp"
#include "tune/sweep/comparison.hpp"

using namespace fatune;

namespace {

Timing time_of(double low, double median, double high) {
  Timing timing;
  timing.median_us = median;
  timing.ci95_low_us = low;
  timing.ci95_high_us = high;
  return timing;
}

/// A winner measured at 10 us, and its config measured again in an equal environment.
struct Fixture {
  KernelRef kernel = test::make_kernel({});
  BestFile saved;
  BestProblem winner;
  FinalRecord row;
  Environment here;

  Fixture() {
    here.device_name = "NVIDIA H200";
    here.driver = "580.159.04";
    here.nvrtc = "13.0.88";
    here.limits = test::test_limits();
    saved.device = here;
    saved.where = "best.json";
    winner.best.emplace();
    winner.best->hot = time_of(9.99, 10, 10.01);
    winner.best->text_hash = kernel->text_hash;
    Conditions& conditions = winner.best->conditions.emplace();
    conditions.sm_clock_mhz_min = conditions.sm_clock_mhz_max = 1980;
    row.conditions = conditions;
    row.hot = winner.best->hot;
  }

  Confirmation confirmed() const {
    const auto confirmation = confirm(saved, winner, row, here, *kernel);
    REQUIRE(confirmation);
    return *confirmation;
  }
  std::string verdict(double low, double median, double high) {
    row.hot = time_of(low, median, high);
    return confirmed().verdict;
  }
};

}  // namespace

TEST_CASE("a time is confirmed when the intervals meet, close within a per cent") {
  Fixture fixture;
  CHECK(fixture.verdict(9.99, 10, 10.01) == "confirmed");
  CHECK(fixture.verdict(10.01, 10.02, 10.03) == "confirmed");
  CHECK(fixture.verdict(10.02, 10.05, 10.06) == "close");
  CHECK(fixture.verdict(9.90, 9.92, 9.94) == "close");
  CHECK(fixture.verdict(10.2, 10.3, 10.4) == "slower");
  CHECK(fixture.verdict(9.2, 9.3, 9.4) == "faster");
}

TEST_CASE("a recording confirms nothing") {
  Fixture fixture;
  fixture.here.recorded = true;
  CHECK(fixture.confirmed().verdict == "recorded");
}

TEST_CASE("equal circumstances have no differences") {
  const Fixture fixture;
  CHECK(fixture.confirmed().differences.empty());
}

TEST_CASE("each circumstance that differs is named with both values") {
  Fixture fixture;
  fixture.here.device_name = "NVIDIA H100";
  fixture.here.driver = "590.1";
  fixture.here.nvrtc = "13.1.2";
  fixture.winner.best->text_hash = std::string(64, '0');
  fixture.row.conditions->sm_clock_mhz_min = 1500;
  fixture.row.conditions->throttle_reasons = 4;
  fixture.here.recorded = true;
  const auto differences = fixture.confirmed().differences;
  REQUIRE(differences.size() == 7);
  CHECK(differences[0] == "GPU was NVIDIA H200 and is NVIDIA H100");
  CHECK(differences[1] == "driver was 580.159.04 and is 590.1");
  CHECK(differences[2] == "NVRTC was 13.0.88 and is 13.1.2");
  CHECK(differences[3] == "the text of toy has changed");
  CHECK(differences[4] == "SM clock was 1980 MHz and is 1500 to 1980 MHz");
  CHECK(differences[5] == "throttling was none and is sw_power_cap");
  CHECK(differences[6] == "this is a recording");
}

TEST_CASE("what an older file does not tell is not compared") {
  Fixture fixture;
  fixture.saved.device->nvrtc.clear();
  fixture.winner.best->text_hash.clear();
  fixture.winner.best->conditions.reset();
  CHECK(fixture.confirmed().differences.empty());
}

TEST_CASE("without a time on either side there is nothing to confirm") {
  Fixture fixture;
  fixture.row.hot.reset();
  CHECK_FALSE(confirm(fixture.saved, fixture.winner, fixture.row, fixture.here, *fixture.kernel));
  fixture.row.hot = fixture.winner.best->hot;
  fixture.row.outcome = Outcome::kWrongResult;
  CHECK_FALSE(confirm(fixture.saved, fixture.winner, fixture.row, fixture.here, *fixture.kernel));
  fixture.row.outcome = Outcome::kMeasured;
  fixture.winner.best->hot.reset();
  CHECK_FALSE(confirm(fixture.saved, fixture.winner, fixture.row, fixture.here, *fixture.kernel));
}
