// budget_test.cpp - shares of evaluations and seconds, and a clock that survives interruptions.
#include "tune/budget.hpp"

#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "tune/run_clock.hpp"

namespace fatune {
namespace {

TEST_CASE("what a kernel leaves unused goes to those after it") {
  RunPlan plan;
  plan.budget_evaluations = 100;
  Budget budget(plan, 3, 0);
  CHECK(budget.next(0).evaluations == 33);
  budget.use(10);
  CHECK(budget.next(0).evaluations == 45);
  budget.use(45);
  CHECK(budget.next(0).evaluations == 45);
}

TEST_CASE("no limit stays no limit") {
  RunPlan plan;
  plan.budget_evaluations = 0;
  Budget budget(plan, 2, 0);
  const Share share = budget.next(0);
  CHECK(share.evaluations == kUnlimited);
  CHECK(std::isinf(share.deadline_s));
  budget.use(1000);
  CHECK(budget.next(0).evaluations == kUnlimited);
}

TEST_CASE("seconds are shared out over the kernels that are left") {
  RunPlan plan;
  plan.budget_seconds = 60;
  Budget budget(plan, 3, 100);
  CHECK(budget.next(100).deadline_s == 120);
  CHECK(budget.next(110).deadline_s == 135);
  CHECK(budget.next(200).deadline_s == 200);
}

TEST_CASE("a clock goes on where the journal ended") {
  double source = 1000;
  const auto read = [&source] { return source; };
  RunClock fresh(read, 0);
  source += 2;
  CHECK(fresh.now() == 2);

  RunClock resumed(read, 50);
  source += 3;
  CHECK(resumed.now() == 0);
  resumed.replay(20);
  resumed.replay(10);
  CHECK(resumed.now() == 20);
  resumed.go_live();
  source += 4;
  CHECK(resumed.now() == 54);
  resumed.replay(60);
  resumed.go_live();
  CHECK(resumed.now() == 54);
}

}  // namespace
}  // namespace fatune
