// progress_tracker_test.cpp: Checks counts, best time and time left.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tune/sweep/run_state.hpp"

namespace fatune {
namespace {

TEST_CASE("progress counts outcomes and follows the best") {
  SweepProgress seen;
  ProgressTracker tracker([&](const SweepProgress& progress) { seen = progress; }, 2);
  tracker.begin_problem("p", 1);
  tracker.plan_candidates(10, 1e9);
  CandidateRecord record;
  record.kernel = "toy";
  record.config = {{"TILE", 16}};
  record.outcome = Outcome::kCrashed;
  tracker.candidate_done(record, std::nullopt, 2);
  CHECK(seen.best_history_us.empty());
  record.outcome = Outcome::kMeasured;
  tracker.candidate_done(record, 12.0, 3);
  record.config = {{"TILE", 32}};
  tracker.candidate_done(record, 15.0, 4);
  CHECK(seen.done == 3);
  CHECK(seen.all == 10);
  CHECK(seen.outcomes[Outcome::kMeasured] == 2);
  CHECK(seen.best_us == 12.0);
  CHECK(seen.best_config == "toy TILE=16");
  CHECK(seen.best_history_us == std::vector<double>{12, 12});
  CHECK_FALSE(seen.left_s);
  tracker.candidate_done(record, 11.0, 5);
  tracker.candidate_done(record, 11.0, 6);
  REQUIRE(seen.left_s);
  CHECK(*seen.left_s == Catch::Approx(5.0));
  tracker.activity("timing", 6);
  CHECK(seen.activity == "timing");
  tracker.begin_finals(7);
  CHECK(seen.phase == "final");
  CHECK_FALSE(seen.left_s);

  tracker.begin_problem("q", 8);
  CHECK(seen.problem_number == 2);
  CHECK(seen.problems == 2);
  CHECK(seen.done == 0);
  CHECK_FALSE(seen.best_us);
}

TEST_CASE("the time left ends at the deadline") {
  SweepProgress seen;
  ProgressTracker tracker([&](const SweepProgress& progress) { seen = progress; }, 1);
  tracker.begin_problem("p", 0);
  tracker.plan_candidates(1000, 9);
  for (int i = 1; i <= 5; ++i) tracker.candidate_done({}, std::nullopt, i);
  CHECK(seen.left_s == 4.0);
}

}  // namespace
}  // namespace fatune
