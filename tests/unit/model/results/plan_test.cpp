// plan_test.cpp: Checks plans as JSON, and the differences between two plans.
#include <functional>

#include <catch2/catch_test_macros.hpp>

#include "core/fields.hpp"
#include "model/results/journal.hpp"
#include "sample_journal.hpp"

namespace fatune {
namespace {

using test::sample_plan;

std::string difference_after(const std::function<void(RunPlan&)>& change) {
  RunPlan changed = sample_plan();
  change(changed);
  return difference(sample_plan(), changed);
}

TEST_CASE("a plan reads back as it was written, all 64 bits of its seed included") {
  const auto plan = read_value<RunPlan>(to_json(sample_plan()), "plan");
  REQUIRE(plan);
  CHECK(dump(to_json(*plan)) == dump(to_json(sample_plan())));
  CHECK(plan->seed == 18446744073709551615ULL);
}

TEST_CASE("a plan keeps where its searches start") {
  RunPlan written = sample_plan();
  written.warm_starts = {{"fa_mma", Json{{"BLOCK_M", 128}}, written.problems.front().problem, "",
                          Arch{90, 'a'}, "runs/first/best.json"}};
  const auto plan = read_value<RunPlan>(to_json(written), "plan");
  REQUIRE(plan);
  CHECK(dump(to_json(*plan)) == dump(to_json(written)));
  REQUIRE(plan->warm_starts.size() == 1);
  CHECK(plan->warm_starts.front().source == "runs/first/best.json");
  // A resumed run keeps its journal's.
  CHECK(difference_after([](RunPlan& other) {
          other.warm_starts = {
              {"fa_mma", Json::object(), Attention(), "", Arch{90, 'a'}, "elsewhere"}};
        }).empty());

  Json object = to_json(written);
  object["warm_starts"][0]["arch"] = "hopper";
  const auto wrong = read_value<RunPlan>(object, "plan");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.find("'warm_starts[0].arch'") != std::string::npos);
}

TEST_CASE("a plan with a wrong field is refused by name") {
  for (const std::string field : {"strategy", "objective", "seed", "budget_evaluations"}) {
    Json object = to_json(sample_plan());
    object[field] = Json::array();
    const auto plan = read_value<RunPlan>(object, "plan");
    REQUIRE_FALSE(plan);
    CHECK(plan.error().message.find(field) != std::string::npos);
  }
}

TEST_CASE("the command as typed may differ between run and resumption") {
  CHECK(difference_after([](RunPlan& plan) { plan.command = "other"; }).empty());
}

TEST_CASE("each field that differs is named with both values") {
  CHECK(difference_after([](RunPlan& plan) { plan.seed = 7; }) ==
        "--seed is '18446744073709551615' in the journal and '7' here");
  CHECK(difference_after([](RunPlan& plan) { plan.strategy = "ga"; }) ==
        "--strategy is 'random' in the journal and 'ga' here");
  CHECK(difference_after([](RunPlan& plan) { plan.one_lever = true; }) ==
        "--one-lever is 'off' in the journal and 'on' here");
  CHECK(difference_after([](RunPlan& plan) { plan.kernels.pop_back(); }) ==
        "--kernel is 'fa_mma,fa_rows' in the journal and 'fa_mma' here");
  CHECK(difference_after([](RunPlan& plan) { plan.objective = Objective::kHot; }) ==
        "--objective is 'cold' in the journal and 'hot' here");
  CHECK(difference_after([](RunPlan& plan) { plan.skip_correctness = false; }) ==
        "--skip-correctness is 'on' in the journal and 'off' here");
  CHECK(difference_after([](RunPlan& plan) { plan.kernel_hashes[1] = "cc"; }) ==
        "the template text of kernel fa_rows is not the one in the journal");
  CHECK(difference_after([](RunPlan& plan) {
          plan.budget_seconds.reset();
        }).starts_with("--budget is '12 evaluations, "));
  CHECK(difference_after([](RunPlan& plan) {
          plan.budget_evaluations = 0;
        }).find("'unlimited evaluations, ") != std::string::npos);
  CHECK(difference_after([](RunPlan& plan) {
          plan.patience = 40;
        }).find("and '12 evaluations, ending after 40 without a faster one, ") !=
        std::string::npos);
  CHECK(difference_after([](RunPlan& plan) {
          plan.problems.pop_back();
        }).starts_with("the problem is "));
  CHECK_FALSE(difference_after([](RunPlan& plan) { plan.record_cold = false; }).empty());
}

}  // namespace
}  // namespace fatune
