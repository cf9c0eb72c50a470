// repeat_finals_test.cpp: Checks what `fatune finals` repeats, keeps, and does after an interrupt.
#include <map>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "shard_fixture.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {
namespace {

using test::FakeEvaluator;
using test::text_of;

/// A suite of two problems with a baseline that becomes available later.
struct RepeatFixture : test::SweepFixture {
  test::FakeDevice device = test::toy_device();
  std::map<std::string, double> baselines = {};  ///< times of available baselines

  RepeatFixture() {
    Attention other = test::test_problem();
    other.seq_q = other.seq_kv = 256;
    options.plan.problems.push_back({"other", other});
    options.baselines = [](const Problem& problem) -> Result<std::vector<Implementation>> {
      std::vector<Implementation> all;
      for (const char* name : {"fa4", "cudnn"}) {
        Implementation& baseline = all.emplace_back();
        baseline.impl = name;
        baseline.role = RowRole::kBaseline;
        baseline.candidate.problem = problem;
        baseline.outside = OutsideProgram{name};
      }
      return all;
    };
    device.outside_us = [this](const std::string& name) -> std::optional<double> {
      const auto baseline = baselines.find(name);
      return baseline == baselines.end() ? std::nullopt : std::optional(baseline->second);
    };
    device.seconds_finals = 2;
  }

  /// Runs finals with cuDNN and without fa4.
  SweepResult first() {
    baselines = {{"cudnn", 9.0}};
    FakeEvaluator evaluator(device);
    SweepResult result = run_well(evaluator);
    options.resume = true;
    options.finals_only = true;
    return result;
  }
  SweepResult again(std::size_t finals) {
    FakeEvaluator evaluator(device);
    SweepResult result = run_well(evaluator);
    CHECK(evaluator.finals_run() == finals);
    CHECK(evaluator.evaluated().empty());
    return result;
  }
  BestFile best() const {
    auto file = load_best_file(options.out);
    REQUIRE(file);
    return *std::move(file);
  }
  std::string gates() const {
    std::string text;
    for (const BestProblem& problem : best().problems)
      text += (text.empty() ? "" : " ") + problem.gate.value().baseline;
    return text;
  }
};

TEST_CASE("what a baseline was not there for is measured again by finals, and nothing else") {
  RepeatFixture fixture;
  fixture.first();
  CHECK(fixture.gates() == "cudnn cudnn");
  fixture.baselines["fa4"] = 5;
  fixture.options.finals_only = false;
  fixture.again(0);
  CHECK(fixture.gates() == "cudnn cudnn");
  fixture.options.finals_only = true;
  const SweepResult repeated = fixture.again(2);
  CHECK(fixture.gates() == "fa4 fa4");
  fixture.again(0);
  const double each_s = 30 * 0.25 + 2 * fixture.device.seconds_finals;
  CHECK(repeated.problems[0].seconds == each_s);
  CHECK(repeated.problems[1].seconds == each_s);
  CHECK(repeated.seconds == 2 * each_s);
}

TEST_CASE("a baseline that is still not there is asked for once, and what was measured stays") {
  RepeatFixture fixture;
  fixture.first();
  const std::string before = fixture.text("best.json");
  fixture.again(1);
  CHECK(fixture.gates() == "cudnn cudnn");
  fixture.baselines = {{"fa4", 5.0}};  // cuDNN is no longer available
  fixture.again(2);
  CHECK(fixture.gates() == "cudnn cudnn");
  CHECK(fixture.best().problems.front().finalists.size() ==
        best_file_from_json(Json::parse(before), "before")->problems.front().finalists.size());
}

TEST_CASE("finals asked for again that are cut off leave published what it did not come to") {
  RepeatFixture fixture;
  fixture.first();
  fixture.baselines["fa4"] = 5;
  SECTION("in the first problem, by an interrupt") {
    fixture.device.on_finals = [](std::size_t) -> Status {
      return Error{ErrorKind::kInterrupted, "interrupted in the final phase"};
    };
    CHECK(fixture.again(0).interrupted);
    CHECK(fixture.gates() == "cudnn cudnn");
  }
  SECTION("in the second problem, by the device") {
    fixture.device.on_finals = [](std::size_t before) -> Status {
      return before == 0 ? Status() : device_error("it has fallen off the bus");
    };
    FakeEvaluator evaluator(fixture.device);
    CHECK_FALSE(fixture.run(evaluator));
    CHECK(fixture.gates() == "fa4 cudnn");
  }
  fixture.device.on_finals = nullptr;
  fixture.again(fixture.gates() == "fa4 cudnn" ? 1 : 2);
  CHECK(fixture.gates() == "fa4 fa4");
}

TEST_CASE("a resumed run that is interrupted at once leaves best.json as it was") {
  RepeatFixture fixture;
  fixture.first();
  fixture.options.finals_only = false;
  const auto problems = fixture.best().problems.size();
  request_interrupt();
  fixture.again(0);  // without a final phase to measure
  CHECK(fixture.best().problems.size() == problems);
}

TEST_CASE("a run of whose problems some were never searched is not complete by its finals") {
  RepeatFixture fixture;
  fixture.device.on_result = [](std::size_t done) {
    if (done == 10) request_interrupt();
  };
  fixture.first();
  fixture.device.on_result = nullptr;
  clear_interrupt();
  fixture.again(1);
  CHECK(load_journal(fixture.options.out / "journal.jsonl")->records.size() > 10);
  const std::string text = fixture.text("journal.jsonl");
  CHECK(text.substr(text.rfind(R"({"t":"end")")).find("interrupted") != std::string::npos);
}

TEST_CASE("final phases that were repeated last are merged with the time that they took") {
  test::ShardFixture fixture;
  fixture.device.seconds_finals = 2;
  fixture.device.outside_us = [](const std::string&) { return std::nullopt; };
  fixture.options.baselines = [](const Problem& problem) -> Result<std::vector<Implementation>> {
    Implementation baseline{.impl = "fa4", .role = RowRole::kBaseline, .candidate = {}};
    baseline.candidate.problem = problem;
    baseline.outside = OutsideProgram{"fa4"};
    return std::vector{baseline};
  };
  const auto folders = fixture.run_all(2);
  fixture.device.outside_us = [](const std::string&) { return 5.0; };
  fixture.options.resume = fixture.options.finals_only = true;
  fixture.run_all(2);
  const auto journal = load_journal(fixture.merge(folders, "merged") / "journal.jsonl");
  REQUIRE(journal);
  double last_s = 0, end_s = 0;
  for (const Record& record : journal->records) {
    const auto* end = std::get_if<EndRecord>(&record);
    if (end == nullptr) last_s = std::max(last_s, moment_of(record));
    if (end != nullptr) end_s = end->seconds;
  }
  constexpr double kSearches = 5 * 30 * 0.25, kPhases = 5 * 2.0;
  CHECK(last_s == kSearches + kPhases);
  CHECK(end_s == kSearches + 2 * kPhases);
}

}  // namespace
}  // namespace fatune
