// budget_test.cpp - shares of evaluations and seconds, and a clock that survives interruptions.
#include "tune/budget.hpp"

#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "tune/run_clock.hpp"

namespace fatune {
namespace {

TEST_CASE("trials have half of the budget, and what one leaves unused goes to those after it") {
  RunPlan plan;
  plan.budget_evaluations = 100;
  Budget budget(plan, 3, 0);
  CHECK(budget.trial(0).evaluations == 16);
  budget.use(10);
  CHECK(budget.trial(0).evaluations == 20);
  budget.use(20);
  CHECK(budget.trial(0).evaluations == 20);
  budget.use(20);
  CHECK(budget.rest().evaluations == 50);
  budget.use(50);
  CHECK(budget.rest().evaluations == 0);
}

TEST_CASE("a single kernel has all of the budget at once") {
  RunPlan plan;
  plan.budget_evaluations = 100;
  plan.budget_seconds = 60;
  Budget budget(plan, 1, 5);
  const Share share = budget.trial(5);
  CHECK(share.evaluations == 100);
  CHECK(share.deadline_s == 65);
}

TEST_CASE("no limit stays no limit") {
  RunPlan plan;
  plan.budget_evaluations = 0;
  Budget budget(plan, 2, 0);
  const Share share = budget.trial(0);
  CHECK(share.evaluations == kUnlimited);
  CHECK(std::isinf(share.deadline_s));
  budget.use(1000);
  CHECK(budget.trial(0).evaluations == kUnlimited);
  CHECK(budget.rest().evaluations == kUnlimited);
}

TEST_CASE("trials share half of the seconds") {
  RunPlan plan;
  plan.budget_seconds = 60;
  Budget budget(plan, 3, 100);
  CHECK(budget.trial(100).deadline_s == 110);
  CHECK(budget.trial(104).deadline_s == 117);
  CHECK(budget.trial(200).deadline_s == 200);
  CHECK(budget.rest().deadline_s == 160);
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
