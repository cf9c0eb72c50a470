// sweep_test.cpp: Checks whole sweeps on a formula: determinism, budgets, failures, interrupts.
#include "tune/sweep/sweep.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "sweep_fixture.hpp"

namespace fatune {
namespace {

using test::FakeEvaluator;
using test::SweepFixture;
using test::toy_device;
using test::toy_kernel;

std::string error_of(SweepFixture& fixture, FakeEvaluator& evaluator, ErrorKind kind) {
  const auto result = fixture.run(evaluator);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == kind);
  return result.error().message;
}

TEST_CASE("a sweep finds the best and never tries a config twice") {
  SweepFixture fixture;
  FakeEvaluator evaluator(toy_device());
  const SweepResult result = fixture.run_well(evaluator);
  const ProblemResult& problem = result.problems.front();
  CHECK_FALSE(result.interrupted);
  CHECK(problem.candidates.size() == 30);
  CHECK(evaluator.evaluated().size() == 30);
  const std::set<std::string> distinct(evaluator.evaluated().begin(), evaluator.evaluated().end());
  CHECK(distinct.size() == 30);
  REQUIRE(problem.best() != nullptr);
  CHECK(describe_config(problem.best()->config) == "TILE=64 WARPS=4 STAGES=2");
  CHECK(problem.gate->passed);
  CHECK(problem.gpu_waited_s > 0);
  CHECK(evaluator.on_start == nullptr);
}

TEST_CASE("the default config is tried first") {
  SweepFixture fixture;
  FakeEvaluator evaluator(toy_device());
  const SweepResult result = fixture.run_well(evaluator);
  const Config usual = default_config(fixture.kernels.front()->manifest);
  const auto& first = result.problems.front().candidates.front();
  REQUIRE(describe(usual) == "TILE=32 WARPS=4 STAGES=1");
  // Since 32 < 16 * 4, the default is ruled out and the search starts elsewhere.
  CHECK(describe_config(first.config) != describe(usual));

  SweepFixture allowed;
  allowed.kernels = {
      test::make_kernel({.axes = {{"TILE", "[16, 32, 64]", "32"}, {"WARPS", "[1, 2, 4]", "4"}}})};
  FakeEvaluator other(toy_device());
  CHECK(describe_config(allowed.run_well(other).problems.front().candidates.front().config) ==
        "TILE=32 WARPS=4");
}

TEST_CASE("the same seed gives the same journal, another seed another") {
  SweepFixture first, second, third;
  third.options.plan.seed = 7;
  FakeEvaluator one(toy_device()), two(toy_device()), three(toy_device());
  first.run_well(one);
  second.run_well(two);
  third.run_well(three);
  CHECK(first.text("journal.jsonl") == second.text("journal.jsonl"));
  CHECK(one.evaluated() != three.evaluated());
}

TEST_CASE("many candidates in flight are told in order") {
  SweepFixture fixture;
  auto device = toy_device();
  device.capacity = 7;
  FakeEvaluator evaluator(device);
  const SweepResult result = fixture.run_well(evaluator);
  CHECK(result.problems.front().candidates.size() == 30);
  for (std::size_t i = 0; i < 30; ++i) {
    CHECK(result.problems.front().candidates[i].key == evaluator.evaluated()[i]);
  }
}

TEST_CASE("a search has no more in flight than its strategy can use") {
  for (const std::string strategy : {"evo", "random"}) {
    SweepFixture fixture;
    fixture.options.plan.strategy = strategy;
    auto device = toy_device();
    device.capacity = 16;
    FakeEvaluator* evaluating = nullptr;
    std::vector<std::size_t> in_flight;
    device.on_result = [&](std::size_t) { in_flight.push_back(evaluating->in_flight()); };
    FakeEvaluator evaluator(device);
    evaluating = &evaluator;
    CHECK(fixture.run_well(evaluator).problems.front().candidates.size() == 30);
    REQUIRE(in_flight.size() == 30);
    CAPTURE(strategy, in_flight);
    // Candidates of evo's spread start need not wait for one another.
    CHECK(in_flight[0] >= (strategy == "evo" ? 6 : 15));
    CHECK((in_flight[16] < 5) == (strategy == "evo"));
  }
}

TEST_CASE("kernels whose searches know little still fill the window together") {
  SweepFixture fixture;
  fixture.kernels = {toy_kernel("first"), toy_kernel("second"), toy_kernel("third")};
  fixture.options.plan.strategy = "evo";
  auto device = toy_device();
  device.capacity = 12;
  FakeEvaluator evaluator(device);
  const ProblemResult problem = fixture.run_well(evaluator).problems.front();
  CHECK(problem.candidates.size() == 30);
  for (std::size_t i = 0; i < 30; ++i) {
    CHECK(problem.candidates[i].key == evaluator.evaluated()[i]);
  }
}

TEST_CASE("what a search is likely to ask is named for preparation, and changes nothing") {
  SweepFixture silent, naming;
  silent.options.plan.strategy = naming.options.plan.strategy = "evo";
  auto device = toy_device();
  FakeEvaluator quiet(device);
  silent.run_well(quiet);
  CHECK(std::all_of(quiet.prepared().begin(), quiet.prepared().end(),
                    [](const auto& keys) { return keys.empty(); }));
  device.worth_preparing = 4;
  FakeEvaluator evaluator(device);
  naming.run_well(evaluator);
  CHECK(naming.text("journal.jsonl") == silent.text("journal.jsonl"));
  std::size_t hits = 0;
  for (std::size_t i = 0; i + 1 < evaluator.evaluated().size(); ++i) {
    const auto& keys = evaluator.prepared().at(i);
    CHECK(keys.size() <= 4);
    hits += std::count(keys.begin(), keys.end(), evaluator.evaluated()[i + 1]);
  }
  CAPTURE(hits);
  CHECK(hits >= 10);
  CHECK(evaluator.prepared().back().empty());
}

TEST_CASE("a space within the budget is tried whole, and no more is asked") {
  SweepFixture fixture;
  fixture.options.plan.budget_evaluations = 500;
  FakeEvaluator evaluator(toy_device());
  const ProblemResult problem = fixture.run_well(evaluator).problems.front();
  CHECK(problem.candidates.size() == problem.valid_points);
  CHECK(problem.raw_points == 80);
  std::uint64_t ruled_out = 0;
  for (const RuledOut& rule : problem.ruled_out) ruled_out += rule.points;
  CHECK(ruled_out == problem.raw_points - problem.valid_points);
  CHECK(problem.outcomes.size() == 8);  // all but infeasible
}

/// Returns the number of tried candidates of 128 if each of the first `improving` is faster than
/// the ones before.
std::size_t tried_with(const RunPlan& plan, std::size_t improving, std::size_t capacity) {
  SweepFixture fixture;
  const char* tiles = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]";
  fixture.kernels = {test::make_kernel(
      {.name = "wide", .axes = {{"TILE", tiles, ""}, {"STAGES", "[1, 2, 3, 4, 5, 6, 7, 8]", ""}}})};
  fixture.options.plan.strategy = "random";
  fixture.options.plan.budget_evaluations = plan.budget_evaluations;
  fixture.options.plan.patience = plan.patience;
  test::FakeDevice device;
  std::size_t results = 0;
  device.on_result = [&](std::size_t before) { results = before; };
  device.cost_us = [&](const Config&) {
    return 1000 - static_cast<double>(std::min(results + 1, improving));
  };
  device.capacity = capacity;
  FakeEvaluator evaluator(device);
  return fixture.run_well(evaluator).problems.front().candidates.size();
}

TEST_CASE("a search ends by itself when many in a row bring nothing faster") {
  RunPlan plan;
  plan.budget_evaluations = 120;
  plan.patience = 40;
  for (const std::size_t capacity : {1U, 16U}) {
    CAPTURE(capacity);
    CHECK(tried_with(plan, 1, capacity) == 60);
    CHECK(tried_with(plan, 20, capacity) == 60);
    CHECK(tried_with(plan, 21, capacity) == 61);
    CHECK(tried_with(plan, 50, capacity) == 90);
    CHECK(tried_with(plan, 100, capacity) == 120);
  }
}

TEST_CASE("without patience, and of a space within the budget, all of the budget is tried") {
  RunPlan plan;
  plan.budget_evaluations = 120;
  CHECK(tried_with(plan, 1, 4) == 120);
  plan.budget_evaluations = 128;
  plan.patience = 40;
  CHECK(tried_with(plan, 1, 4) == 128);
}

TEST_CASE("a time budget ends the search") {
  SweepFixture fixture;
  fixture.options.plan.budget_evaluations = 0;
  fixture.options.plan.budget_seconds = 5;
  FakeEvaluator evaluator(toy_device());
  CHECK(fixture.run_well(evaluator).problems.front().candidates.size() == 20);
}

TEST_CASE("kernels share the budget, the smallest space first") {
  SweepFixture fixture;
  fixture.kernels = {test::toy_kernel("large"),
                     test::make_kernel({.name = "small", .axes = {{"TILE", "[16, 32, 64]", ""}}})};
  FakeEvaluator evaluator(toy_device());
  const ProblemResult problem = fixture.run_well(evaluator).problems.front();
  std::map<std::string, int> counts;
  for (const CandidateRecord& record : problem.candidates) ++counts[record.kernel];
  CHECK(counts["small"] == 3);
  CHECK(counts["large"] == 27);
  CHECK(problem.candidates.front().kernel == "small");
  CHECK(problem.ruled_out.front().why.starts_with("large: "));
}

TEST_CASE("after the trials a kernel without a chance has no more candidates") {
  SweepFixture fixture;
  const char* tiles = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]";
  fixture.kernels = {
      test::make_kernel({.name = "slow", .axes = {{"TILE", tiles, ""}, {"SLOW", "[1, 2]", ""}}}),
      test::make_kernel({.name = "quick", .axes = {{"TILE", tiles, ""}, {"QUICK", "[1, 2]", ""}}})};
  test::FakeDevice device;
  device.cost_us = [](const Config& config) {
    return test::number(config, "TILE") + (config.find("SLOW") != nullptr ? 40 : 20);
  };
  FakeEvaluator evaluator(device);
  std::map<std::string, int> counts;
  const SweepResult result = fixture.run_well(evaluator);
  for (const CandidateRecord& record : result.problems.front().candidates) ++counts[record.kernel];
  CHECK(counts["slow"] == 4);
  CHECK(counts["quick"] == 26);
}

TEST_CASE("an earlier problem's best config starts the next search") {
  SweepFixture fixture;
  Attention longer = test::test_problem();
  longer.seq_q = longer.seq_kv = 1024;
  fixture.options.plan.problems.push_back({"longer", longer});
  FakeEvaluator evaluator(toy_device());
  const SweepResult result = fixture.run_well(evaluator);
  REQUIRE(result.problems.size() == 2);
  CHECK(evaluator.problems_begun() == 2);
  CHECK(describe_config(result.problems[1].candidates.front().config) ==
        "TILE=64 WARPS=4 STAGES=2");
  const Json best = best_json(result);
  CHECK(best.at("problems").size() == 2);
  CHECK(best.at("problems")[1].at("name") == "longer");
  CHECK(best.at("geomean_ratio").get<double>() < 0.2);
}

TEST_CASE("a sweep in which everything fails is a normal sweep") {
  SweepFixture fixture;
  auto device = toy_device();
  device.fails = [](const Config&) { return Outcome::kWrongResult; };
  FakeEvaluator evaluator(device);
  const SweepResult result = fixture.run_well(evaluator);
  CHECK(result.problems.front().best() == nullptr);
  CHECK(evaluator.finals_run() == 0);
  CHECK_FALSE(std::filesystem::exists(fixture.options.out / "best.json"));
}

TEST_CASE("an interrupt ends after the candidate on the device and loses nothing") {
  SweepFixture fixture;
  auto device = toy_device();
  device.capacity = 4;
  device.on_result = [](std::size_t done) {
    if (done == 10) request_interrupt();
  };
  FakeEvaluator evaluator(device);
  const SweepResult result = fixture.run_well(evaluator);
  CHECK(result.interrupted);
  CHECK(result.problems.front().candidates.size() == 11);
  CHECK(evaluator.finals_run() == 0);
  const auto journal = load_journal(fixture.options.out / "journal.jsonl");
  REQUIRE(journal);
  const auto* end = std::get_if<EndRecord>(&journal->records.back());
  REQUIRE(end != nullptr);
  CHECK(end->status == "interrupted");
}

TEST_CASE("an interrupt before the first candidate ends a run that can be resumed") {
  SweepFixture fixture;
  fixture.options.on_progress = [](const SweepProgress&) { request_interrupt(); };
  FakeEvaluator evaluator(toy_device());
  const SweepResult result = fixture.run_well(evaluator);
  CHECK(result.interrupted);
  CHECK(result.problems.front().candidates.empty());
  clear_interrupt();
  fixture.options.on_progress = nullptr;
  fixture.options.resume = true;
  CHECK(fixture.run_well(evaluator).problems.front().best() != nullptr);
}

TEST_CASE("an interrupt waits for the candidate on the device, not only for the oldest") {
  // The second candidate is on the device when the first, which needs no device, is collected.
  SweepFixture fixture;
  auto device = toy_device();
  device.capacity = 4;
  FakeEvaluator evaluator(device);
  bool announced = false;
  fixture.options.on_progress = [&](const SweepProgress& progress) {
    if (progress.done != 5 || announced) return;
    announced = true;
    request_interrupt();
    REQUIRE(evaluator.on_start({"id", evaluator.key_in_flight(2)}));
  };
  const SweepResult result = fixture.run_well(evaluator);
  CHECK(result.interrupted);
  CHECK(result.problems.front().candidates.size() == 8);
}

TEST_CASE("the end of the device is an error, and what was measured is journalled") {
  SweepFixture fixture;
  auto device = toy_device();
  device.dies_after = 12;
  FakeEvaluator evaluator(device);
  CHECK(error_of(fixture, evaluator, ErrorKind::kDevice).find("the device is gone") !=
        std::string::npos);
  const auto journal = load_journal(fixture.options.out / "journal.jsonl");
  REQUIRE(journal);
  CHECK(std::count_if(journal->records.begin(), journal->records.end(), [](const Record& record) {
          return std::holds_alternative<CandidateRecord>(record);
        }) == 12);
}

TEST_CASE("an empty space is an error that lists the rules, before anything is written") {
  SweepFixture fixture;
  fixture.kernels = {
      test::make_kernel({.axes = {{"TILE", "[16, 32]", ""}}, .rules = {"TILE > 16", "TILE < 32"}})};
  FakeEvaluator evaluator(toy_device());
  const std::string message = error_of(fixture, evaluator, ErrorKind::kImpossible);
  CHECK(message.find("TILE > 16 excludes 1 (rule 1 of the test)") != std::string::npos);
  CHECK(message.find("TILE < 32 excludes 1 (rule 2 of the test)") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(fixture.options.out));
}

TEST_CASE("a kernel that cannot do the problem is left out; if none can, that is an error") {
  SweepFixture fixture;
  const KernelRef unable = test::make_kernel(
      {.name = "unable",
       .axes = {{"TILE", "[64]", ""}, {"WARPS", "[4]", ""}, {"STAGES", "[2]", ""}},
       .problem_rules = {"HEAD_DIM == 128"}});
  fixture.kernels.push_back(unable);
  FakeEvaluator evaluator(toy_device());
  const SweepResult result = fixture.run_well(evaluator);
  REQUIRE(result.problems.front().left_out.size() == 1);
  CHECK(result.problems.front().left_out.front().starts_with("unable: "));

  SweepFixture hopeless;
  hopeless.kernels = {unable};
  CHECK(error_of(hopeless, evaluator, ErrorKind::kImpossible).find("unable: ") !=
        std::string::npos);

  // An impossible problem among several is left out with its reason; the run is complete.
  NamedProblem able = hopeless.options.plan.problems.front();
  able.name = "able";
  able.problem.as_attention().head_dim = 128;
  hopeless.options.plan.problems.push_back(able);
  const SweepResult rest = hopeless.run_well(evaluator);
  REQUIRE(rest.problems.size() == 2);
  CHECK(rest.problems.front().why_not_tried().find("unable: ") != std::string::npos);
  CHECK(rest.problems.back().best() != nullptr);
  const Journal journal = *load_journal(hopeless.options.out / "journal.jsonl");
  CHECK(std::get<EndRecord>(journal.records.back()).status == "complete");
}

TEST_CASE("unknown strategies and objectives are usage errors") {
  SweepFixture fixture;
  FakeEvaluator evaluator(toy_device());
  fixture.options.plan.strategy = "gaa";
  CHECK(error_of(fixture, evaluator, ErrorKind::kUsage).find("did you mean 'ga'?") !=
        std::string::npos);
  CHECK_FALSE(std::filesystem::exists(fixture.options.out));
}

TEST_CASE("progress is shown for every candidate and the finals") {
  SweepFixture fixture;
  std::vector<SweepProgress> seen;
  fixture.options.on_progress = [&](const SweepProgress& progress) { seen.push_back(progress); };
  FakeEvaluator evaluator(toy_device());
  fixture.run_well(evaluator);
  REQUIRE(seen.size() >= 61);
  CHECK(seen.front().problem == "mission 4,8,512,64 f16");
  CHECK(seen.back().phase == "final");
  CHECK(seen.back().done == 30);
  CHECK(seen.back().all == 30);
  CHECK(seen.back().best_us == 10.0);
}

}  // namespace
}  // namespace fatune
