// fleet_sweep_test.cpp: Sweeps a suite on several devices at once, and compares with one device.
#include "tune/fleet/fleet_sweep.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "../sweep/sweep_fixture.hpp"
#include "core/fields.hpp"
#include "support/captured_stderr.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {
namespace {

using test::FakeEvaluator;
using test::SweepFixture;
using test::toy_device;

Attention problem_of_batch(std::int64_t batch) {
  Attention problem = test::test_problem();
  problem.batch = batch;
  return problem;
}

/// A sweep of four independent problems.
struct SuiteFixture : SweepFixture {
  SuiteFixture() {
    options.plan.problems.clear();
    for (const std::int64_t batch : {4, 1, 8, 2})
      options.plan.problems.push_back({"", problem_of_batch(batch)});
    options.plan.shard = Shard{.number = 1, .of = 1, .problems = {0, 1, 2, 3}};
  }
  Result<SweepResult> sweep_on(const std::vector<test::FakeDevice>& devices) {
    FleetClock clock;
    FleetWork work;
    LanePool pool(clock, work);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      pool.add("cuda:" + std::to_string(i),
               [device = devices[i], i]() -> Result<std::unique_ptr<Evaluator>> {
                 auto evaluator = std::make_unique<FakeEvaluator>(device);
                 evaluator->editable_environment().device_uuid = "GPU-" + std::to_string(i);
                 return std::unique_ptr<Evaluator>(std::move(evaluator));
               });
    }
    FATUNE_TRY(const Environment environment, gather(pool));
    return sweep_on_fleet(options, kernels, reference, {pool, work, environment});
  }
  Journal journal() const {
    auto read = load_journal(options.out / "journal.jsonl");
    REQUIRE(read);
    return *std::move(read);
  }
};

/// Renders the results of each problem without times of day and devices.
std::map<std::string, std::vector<std::string>> found(const Journal& journal) {
  std::map<std::string, std::vector<std::string>> results;
  for (Record record : journal.records) {
    if (auto* candidate = std::get_if<CandidateRecord>(&record)) {
      candidate->at_s = 0;
      candidate->spent = {};
    } else if (auto* final = std::get_if<FinalRecord>(&record)) {
      final->at_s = 0;
      final->gpu.clear();
    } else {
      continue;
    }
    results[describe(*problem_of(record))].push_back(dump(to_json(record)));
  }
  return results;
}

template <typename T>
std::size_t count_of(const Journal& journal) {
  return static_cast<std::size_t>(std::ranges::count_if(
      journal.records, [](const Record& each) { return std::holds_alternative<T>(each); }));
}

Journal of_one_device() {
  SuiteFixture one;
  FakeEvaluator evaluator(toy_device());
  one.run_well(evaluator);
  return one.journal();
}

TEST_CASE("several devices find for each problem what one device finds") {
  SuiteFixture several;
  const auto result = several.sweep_on({toy_device(), toy_device(), toy_device()});
  REQUIRE(result);
  CHECK(found(several.journal()) == found(of_one_device()));
  REQUIRE(result->problems.size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(result->problems[i].problem.problem == several.options.plan.problems[i].problem);
  REQUIRE(result->fleet);
  CHECK(result->fleet->workers.size() == 3);
  CHECK(result->environment.device_uuid.empty());
  CHECK(count_of<BeginRecord>(several.journal()) == 4);
  const auto best = load_best_file(several.options.out);
  REQUIRE(best);
  for (const BestProblem& problem : best->problems) CHECK(problem.gpu.starts_with("GPU-"));
}

TEST_CASE("a complete run of several devices that is resumed measures nothing") {
  SuiteFixture run;
  REQUIRE(run.sweep_on({toy_device(), toy_device()}));
  const std::string before = run.text("journal.jsonl");
  run.options.resume = true;
  const auto again = run.sweep_on({toy_device(), toy_device()});
  REQUIRE(again);
  CHECK(again->problems.size() == 4);
  CHECK(run.text("journal.jsonl") == before);
  FakeEvaluator one(toy_device());
  run.run_well(one);
  CHECK(one.evaluated().empty());
  CHECK(run.text("journal.jsonl") == before);
}

std::vector<std::string> winners_of(const SweepResult& result) {
  std::vector<std::string> ids;
  for (const ProblemResult& problem : result.problems)
    ids.push_back(problem.best() == nullptr ? "none" : problem.best()->id);
  return ids;
}

std::set<std::string> keys_of(const Journal& journal) {
  std::set<std::string> keys;
  for (const Record& record : journal.records) {
    if (const auto* candidate = std::get_if<CandidateRecord>(&record)) keys.insert(candidate->key);
  }
  return keys;
}

TEST_CASE("a run of several devices that is cut at any line goes on to the same result") {
  SuiteFixture whole;
  const auto result = whole.sweep_on({toy_device(), toy_device()});
  REQUIRE(result);
  const std::string journal = whole.text("journal.jsonl");
  std::size_t line = 0;
  for (std::size_t end = journal.find('\n'); end != std::string::npos;
       end = journal.find('\n', end + 1)) {
    if (++line % 7 != 1) continue;
    SuiteFixture cut;
    cut.options.resume = true;
    REQUIRE(make_directories(cut.options.out));
    REQUIRE(replace_file(cut.options.out / "journal.jsonl", journal.substr(0, end + 1)));
    const auto resumed = cut.sweep_on({toy_device(), toy_device()});
    REQUIRE(resumed);
    CHECK(winners_of(*resumed) == winners_of(*result));
    CHECK(keys_of(cut.journal()) == keys_of(whole.journal()));
  }
}

TEST_CASE("what a device that breaks had is swept by another") {
  SuiteFixture run;
  test::FakeDevice broken = toy_device();
  broken.dies_after = 7;
  std::optional<Result<SweepResult>> result;
  const std::string said = test::captured_stderr([&] {
    result = run.sweep_on({broken, toy_device()});
  });
  REQUIRE(*result);
  CHECK((*result)->problems.size() == 4);
  CHECK(said.find("cuda:0: ") != std::string::npos);
  CHECK(found(run.journal()) == found(of_one_device()));
}

TEST_CASE("problems that no device can sweep are named, and the rest is kept") {
  SuiteFixture run;
  test::FakeDevice broken = toy_device();
  broken.dies_after = 7;
  std::optional<Result<SweepResult>> result;
  static_cast<void>(test::captured_stderr([&] { result = run.sweep_on({broken, broken}); }));
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::kDevice);
  CHECK(result->error().message.find("could not be swept") != std::string::npos);
}

TEST_CASE("a device that does not open is left out") {
  SuiteFixture run;
  FleetClock clock;
  FleetWork work;
  LanePool pool(clock, work);
  pool.add("cuda:0", []() -> Result<std::unique_ptr<Evaluator>> {
    return device_error("the GPU has fallen off the bus");
  });
  std::optional<Result<Environment>> alone;
  std::string said = test::captured_stderr([&] { alone = gather(pool); });
  REQUIRE_FALSE(*alone);
  CHECK(alone->error().message == "the GPU has fallen off the bus");
  pool.add("cuda:1", []() -> Result<std::unique_ptr<Evaluator>> {
    return std::unique_ptr<Evaluator>(std::make_unique<FakeEvaluator>(toy_device()));
  });
  said = test::captured_stderr([&] { alone = gather(pool); });
  REQUIRE(*alone);
  CHECK(said.find("cuda:0 is left out: the GPU has fallen off the bus") != std::string::npos);
  const auto result =
      sweep_on_fleet(run.options, run.kernels, run.reference, {pool, work, **alone});
  REQUIRE(result);
  CHECK(result->problems.size() == 4);
}

TEST_CASE("Ctrl-C ends the sweeps of all devices, and the run goes on from its journal") {
  SuiteFixture run;
  test::FakeDevice device = toy_device();
  std::atomic<int> results = 0;
  device.on_result = [&results](std::size_t) {
    if (++results == 25) request_interrupt();
  };
  const auto stopped = run.sweep_on({device, device});
  clear_interrupt();
  REQUIRE(stopped);
  CHECK(stopped->interrupted);
  run.options.resume = true;
  REQUIRE(run.sweep_on({toy_device(), toy_device()}));
  CHECK(found(run.journal()) == found(of_one_device()));
}

}  // namespace
}  // namespace fatune
