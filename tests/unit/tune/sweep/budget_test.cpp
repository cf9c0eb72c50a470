// budget_test.cpp: Checks shares of evaluations and seconds, and the clock of resumed runs.
#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "tune/sweep/run_state.hpp"
#include "tune/sweep/search_loop.hpp"

namespace fatune {
namespace {

TEST_CASE("trials have a quarter of the budget; what a small space leaves goes to those after it") {
  RunPlan plan;
  plan.budget_evaluations = 99;
  const Budget budget(plan, {5, 500, 900}, 0);
  CHECK(budget.trial(0).evaluations == 5);
  CHECK(budget.trial(1).evaluations == 10);
  CHECK(budget.trial(2).evaluations == 10);
  CHECK(budget.whole().evaluations == 99);
}

TEST_CASE("each kernel is tried once at least, as far as the budget goes") {
  RunPlan plan;
  plan.budget_evaluations = 7;
  const Budget enough(plan, {100, 100, 100, 100}, 0);
  for (std::size_t i = 0; i < 4; ++i) CHECK(enough.trial(i).evaluations == 1);
  plan.budget_evaluations = 2;
  const Budget scarce(plan, {100, 100, 100}, 0);
  CHECK(scarce.trial(0).evaluations + scarce.trial(1).evaluations + scarce.trial(2).evaluations ==
        2);
}

TEST_CASE("a single kernel has all of the budget at once") {
  RunPlan plan;
  plan.budget_evaluations = 100;
  plan.budget_seconds = 60;
  const Budget budget(plan, {1000}, 5);
  CHECK(budget.trial(0).evaluations == 100);
  CHECK(budget.trial(0).deadline_s == 65);
}

TEST_CASE("patience leaves a search sixty evaluations, and more after each that is faster") {
  RunPlan plan;
  plan.budget_evaluations = 150;
  plan.patience = 40;
  const Budget budget(plan, {100, 500}, 0);
  CHECK(budget.whole().evaluations == 150);
  CHECK(budget.trial(0).evaluations + budget.trial(1).evaluations == 15);
  CHECK(budget.worth_asking(0) == 60);
  CHECK(budget.worth_asking(20) == 60);
  CHECK(budget.worth_asking(21) == 61);
  CHECK(budget.worth_asking(130) == 150);
  // Only 50 and 100 configs exist.
  CHECK(Budget(plan, {50, 100}, 0).worth_asking(1) == 150);
  plan.patience = 0;
  CHECK(Budget(plan, {100, 500}, 0).worth_asking(1) == 150);
}

TEST_CASE("no limit stays no limit") {
  RunPlan plan;
  plan.budget_evaluations = 0;
  const Budget budget(plan, {10, 20}, 0);
  CHECK(budget.trial(0).evaluations == kUnlimited);
  CHECK(std::isinf(budget.trial(0).deadline_s));
  CHECK(budget.whole().evaluations == kUnlimited);
}

TEST_CASE("trials take turns in a quarter of the seconds") {
  RunPlan plan;
  plan.budget_seconds = 60;
  const Budget budget(plan, {10, 20, 30}, 100);
  CHECK(budget.trial(0).deadline_s == 115);
  CHECK(budget.trial(2).deadline_s == 115);
  CHECK(budget.whole().deadline_s == 160);
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
