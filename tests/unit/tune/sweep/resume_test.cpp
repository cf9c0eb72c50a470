// resume_test.cpp: Checks that a resumed sweep repeats nothing and reaches an equal end.
#include <algorithm>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "sweep_fixture.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/run_state.hpp"

namespace fatune {
namespace {

using test::FakeEvaluator;
using test::SweepFixture;
using test::toy_device;

Attention other_problem() {
  Attention problem = test::test_problem();
  problem.batch = 2;
  return problem;
}

struct Line {
  std::size_t end;  ///< of the line, in bytes
  std::string type;
};

std::vector<Line> lines_of(const std::string& journal) {
  std::vector<Line> lines;
  std::size_t end = 0;
  for (const std::string& line : split(journal, '\n')) {
    if (line.empty()) continue;
    end += line.size() + 1;
    const auto json = parse_json(line, "line");
    REQUIRE(json);
    lines.push_back({end, json->value("t", "header")});
  }
  return lines;
}

/// Resumes a copy of `fixture`'s run that holds only `text`.
std::string resumed(const SweepFixture& original, const std::string& text,
                    FakeEvaluator& evaluator) {
  SweepFixture copy;
  copy.options.plan = original.options.plan;
  copy.kernels = original.kernels;
  copy.options.resume = true;
  REQUIRE(make_directories(copy.options.out));
  REQUIRE(replace_file(copy.options.out / "journal.jsonl", text));
  copy.run_well(evaluator);
  CHECK(copy.text("best.json") == original.text("best.json"));
  return copy.text("journal.jsonl");
}

TEST_CASE("a finished run that is resumed keeps what best.json alone has") {
  SweepFixture fixture;
  auto device = toy_device();
  FakeEvaluator first(device);
  fixture.run_well(first);
  // Adds a verdict after the sweep, like --sanitize.
  const auto path = fixture.options.out / "best.json";
  auto saved = load_best_file(path);
  REQUIRE(saved);
  REQUIRE(saved->problems.at(0).best);
  const std::vector<ToolVerdict> verdict = {{"memcheck", "passed", ""},
                                            {"racecheck", "failed", "a hazard"}};
  take_verdicts(verdict, *saved->problems[0].best->verification);
  REQUIRE(replace_file(path, dump_pretty(to_json(*saved))));
  FakeEvaluator second(device);
  fixture.options.resume = true;
  fixture.run_well(second);
  const auto again = load_best_file(path);
  REQUIRE(again);
  REQUIRE(again->problems.at(0).best);
  CHECK(again->problems[0].best->verification->sanitizer == verdict);
  CHECK(why_unverified(*again->problems[0].best) ==
        "compute-sanitizer's racecheck failed: a hazard");
}

TEST_CASE("devices that helped before a run was resumed stay in best.json") {
  SweepFixture fixture;
  FakeEvaluator first(toy_device());
  fixture.run_well(first);
  const std::string text = fixture.text("journal.jsonl");
  const std::size_t end = text.find('\n');
  auto header = parse_json(text.substr(0, end), "header");
  REQUIRE(header);
  (*header)["helpers"] = Json::array({(*header)["environment"]});
  REQUIRE(replace_file(fixture.options.out / "journal.jsonl", header->dump() + text.substr(end)));
  FakeEvaluator second(toy_device());
  fixture.options.resume = true;
  fixture.run_well(second);
  const auto best = load_best_file(fixture.options.out / "best.json");
  REQUIRE(best);
  REQUIRE(best->helpers.size() == 1);
  CHECK(best->helpers[0].device_uuid == second.environment().device_uuid);
}

TEST_CASE("a run cut after any result continues to the same journal") {
  for (const std::size_t capacity : {1U, 5U}) {
    SweepFixture fixture;
    auto device = toy_device();
    device.capacity = capacity;
    FakeEvaluator first(device);
    fixture.run_well(first);
    const std::string whole = fixture.text("journal.jsonl");
    std::size_t results = 0;
    for (const Line& line : lines_of(whole)) {
      CAPTURE(capacity, line.end, line.type);
      results += line.type == "candidate";
      if (line.type == "started") continue;
      FakeEvaluator second(device);
      const std::string text = resumed(fixture, whole.substr(0, line.end), second);
      CHECK(second.evaluated().size() == 30 - results);
      // An interrupted final phase is repeated as a whole, so its records appear twice.
      if (line.type != "final") CHECK(text == whole);
      if (line.type == "end") CHECK(second.problems_begun() == 0);
    }
  }
}

TEST_CASE("a run cut within a line drops that line only") {
  SweepFixture fixture;
  FakeEvaluator first(toy_device());
  fixture.run_well(first);
  const std::string whole = fixture.text("journal.jsonl");
  const auto lines = lines_of(whole);
  for (std::size_t i = 1; i < lines.size(); i += 5) {
    if (lines[i].type != "started" || lines[i - 1].type == "started") continue;
    FakeEvaluator second(toy_device());
    CHECK(resumed(fixture, whole.substr(0, lines[i - 1].end + 9), second) == whole);
  }
}

/// Cuts the fixture's journal after the line `started` of its fifth candidate; returns the key.
std::string cut_while_on_device(SweepFixture& fixture) {
  const std::string whole = fixture.text("journal.jsonl");
  const auto lines = lines_of(whole);
  const auto started = std::find_if(lines.begin() + 8, lines.end(),
                                    [](const Line& line) { return line.type == "started"; });
  REQUIRE(started != lines.end());
  REQUIRE(replace_file(fixture.options.out / "journal.jsonl", whole.substr(0, started->end)));
  const auto cut = load_journal(fixture.options.out / "journal.jsonl");
  REQUIRE(cut);
  return std::get<StartedRecord>(cut->records.back()).key;
}

TEST_CASE("a candidate that was on the device when everything ended is tried once more, first") {
  for (const std::size_t capacity : {1U, 5U}) {
    SweepFixture fixture;
    auto device = toy_device();
    device.capacity = capacity;
    FakeEvaluator first(device);
    const SweepResult whole = fixture.run_well(first);
    const std::string best = fixture.text("best.json");
    const std::string key = cut_while_on_device(fixture);
    fixture.options.resume = true;
    FakeEvaluator second(device);
    const SweepResult result = fixture.run_well(second);
    CHECK(second.evaluated().front() == key);
    CHECK(std::ranges::count(second.evaluated(), key) == 1);
    CHECK(result.problems.front().outcomes == whole.problems.front().outcomes);
    CHECK(result.problems.front().candidates.size() == 30);
    CHECK(fixture.text("best.json") == best);
    FakeEvaluator third(device);
    fixture.run_well(third);
    CHECK(third.evaluated().empty());
  }
}

TEST_CASE("a journal without configs of started candidates has them tried again in their turn") {
  SweepFixture fixture;
  FakeEvaluator first(toy_device());
  fixture.run_well(first);
  const std::string best = fixture.text("best.json");
  const std::string key = cut_while_on_device(fixture);
  std::string text = fixture.text("journal.jsonl");
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  auto line = parse_json(text.substr(last), "line");
  REQUIRE(line);
  for (const char* name : {"kernel", "config", "problem", "crc"}) line->erase(name);
  REQUIRE(replace_file(fixture.options.out / "journal.jsonl",
                       text.substr(0, last) + dump(*line) + "\n"));
  fixture.options.resume = true;
  FakeEvaluator second(toy_device());
  CHECK(fixture.run_well(second).problems.front().candidates.size() == 30);
  CHECK(std::ranges::count(second.evaluated(), key) == 1);
  CHECK(fixture.text("best.json") == best);
}

TEST_CASE("a candidate with which the run ended twice has crashed and is not tried again") {
  SweepFixture fixture;
  FakeEvaluator first(toy_device());
  fixture.run_well(first);
  const std::string key = cut_while_on_device(fixture);
  fixture.options.resume = true;
  FakeEvaluator second(toy_device());
  fixture.run_well(second);
  const std::string text = fixture.text("journal.jsonl");
  const std::size_t again = text.find("\"again\":true");
  REQUIRE(again != std::string::npos);
  REQUIRE(replace_file(fixture.options.out / "journal.jsonl",
                       text.substr(0, text.find('\n', again) + 1)));

  FakeEvaluator third(toy_device());
  const SweepResult result = fixture.run_well(third);
  CHECK(std::ranges::count(third.evaluated(), key) == 0);
  const auto& candidates = result.problems.front().candidates;
  const auto crashed =
      std::find_if(candidates.begin(), candidates.end(),
                   [&](const CandidateRecord& record) { return record.key == key; });
  REQUIRE(crashed != candidates.end());
  CHECK(crashed->outcome == Outcome::kCrashed);
  CHECK(crashed->reason == "the run ended twice while this candidate was on the device");
  CHECK(candidates.size() == 30);

  FakeEvaluator fourth(toy_device());
  fixture.run_well(fourth);
  CHECK(fourth.evaluated().empty());
}

TEST_CASE("an interrupted run continues where it was") {
  SweepFixture whole, cut;
  FakeEvaluator undisturbed(toy_device());
  whole.run_well(undisturbed);
  auto device = toy_device();
  device.on_result = [](std::size_t done) {
    if (done == 13) request_interrupt();
  };
  FakeEvaluator interrupted_one(device);
  CHECK(cut.run_well(interrupted_one).interrupted);
  clear_interrupt();
  cut.options.resume = true;
  FakeEvaluator rest(toy_device());
  const SweepResult result = cut.run_well(rest);
  CHECK_FALSE(result.interrupted);
  CHECK(interrupted_one.evaluated().size() + rest.evaluated().size() == 30);
  CHECK(cut.text("best.json") == whole.text("best.json"));
}

TEST_CASE("a time budget is spent once, not once per attempt") {
  SweepFixture fixture;
  fixture.options.plan.budget_evaluations = 0;
  fixture.options.plan.budget_seconds = 5;
  auto device = toy_device();
  device.dies_after = 8;
  FakeEvaluator first(device);
  REQUIRE_FALSE(fixture.run(first));
  fixture.options.resume = true;
  FakeEvaluator second(toy_device());
  CHECK(fixture.run_well(second).problems.front().candidates.size() == 20);
  CHECK(second.evaluated().size() == 12);
}

TEST_CASE("problems with a final phase are not searched again, where the clock ends searches") {
  SweepFixture fixture;
  fixture.options.plan.problems.push_back({"other", other_problem()});
  fixture.options.plan.budget_evaluations = 0;
  fixture.options.plan.budget_seconds = 5;
  auto device = toy_device();
  device.capacity = 4;
  device.on_result = [](std::size_t done) {
    if (done == 30) request_interrupt();
  };
  FakeEvaluator first(device);
  REQUIRE(fixture.run_well(first).interrupted);
  REQUIRE(first.finals_run() == 1);
  clear_interrupt();
  fixture.options.resume = true;
  FakeEvaluator second(toy_device());
  CHECK_FALSE(fixture.run_well(second).problems.at(0).finals.empty());
  CHECK(second.problems_begun() == 1);
  CHECK(second.finals_run() == 1);
}

TEST_CASE("another plan, device or kernel text is refused on resumption") {
  SweepFixture fixture;
  FakeEvaluator evaluator(toy_device());
  fixture.run_well(evaluator);
  fixture.options.resume = true;
  const auto message = [&](FakeEvaluator& present) {
    const auto result = fixture.run(present);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::kUsage);
    return result.error().message;
  };
  fixture.options.plan.seed = 43;
  CHECK(message(evaluator).find("--seed is '42' in the journal and '43' here") !=
        std::string::npos);
  fixture.options.plan.seed = 42;
  FakeEvaluator other(toy_device());
  other.editable_environment().device_name = "Formula 2";
  CHECK(message(other).find("was measured on Formula 1 (sm_90a), this is Formula 2 (sm_90a)") !=
        std::string::npos);
  other.editable_environment() = evaluator.environment();
  other.editable_environment().recorded = true;
  CHECK(message(other).find("this is Formula 1 (sm_90a, recorded)") != std::string::npos);
}

TEST_CASE("a second sweep into the same folder is refused") {
  SweepFixture fixture;
  FakeEvaluator evaluator(toy_device());
  fixture.run_well(evaluator);
  const auto again = fixture.run(evaluator);
  REQUIRE_FALSE(again);
  CHECK(again.error().kind == ErrorKind::kFile);
  CHECK(again.error().message.find("fatune resume") != std::string::npos);
}

TEST_CASE("duplicates of journalled machine code stay duplicates") {
  SweepFixture fixture;
  fixture.options.plan.budget_evaluations = 500;
  FakeEvaluator first(toy_device());
  const auto whole = fixture.run_well(first).problems.front().outcomes;
  const std::string text = fixture.text("journal.jsonl");
  const auto lines = lines_of(text);
  std::size_t middle = lines.size() / 2;
  while (lines[middle].type != "candidate") ++middle;
  REQUIRE(replace_file(fixture.options.out / "journal.jsonl", text.substr(0, lines[middle].end)));
  fixture.options.resume = true;
  FakeEvaluator second(toy_device());
  CHECK(fixture.run_well(second).problems.front().outcomes == whole);
}

TEST_CASE("a result that comes before its turn is journalled at once, and once") {
  SweepFixture fixture;
  auto device = toy_device();
  device.capacity = 5;
  device.early = true;
  device.dies_after = 12;
  FakeEvaluator first(device);
  REQUIRE_FALSE(fixture.run(first));
  const std::string text = fixture.text("journal.jsonl");
  std::size_t results = 0;
  for (const Line& line : lines_of(text)) results += line.type == "candidate";
  CHECK(results == 12);

  fixture.options.resume = true;
  auto whole = toy_device();
  whole.capacity = 5;
  whole.early = true;
  FakeEvaluator second(whole);
  CHECK(fixture.run_well(second).problems.front().candidates.size() == 30);
  CHECK(second.evaluated().size() == 18);
}

TEST_CASE("only the candidate that was started last can have ended the run") {
  SweepFixture fixture;
  FakeEvaluator evaluator(toy_device());
  fixture.run_well(evaluator);
  auto journal = load_journal(fixture.options.out / "journal.jsonl");
  REQUIRE(journal);
  const Space space =
      *Space::build(fixture.kernels.front(), test::test_problem(), test::test_limits());
  const Candidate first = space.candidate(space.point(0)), last = space.candidate(space.point(1));
  StartedRecord earlier{"1", candidate_key(first)}, latest{"2", candidate_key(last)};
  earlier.problem = latest.problem = test::test_problem();
  journal->records = {earlier, latest};
  const ResumeIndex once(*journal);
  REQUIRE(once.suspect(test::test_problem()));
  CHECK(once.suspect(test::test_problem())->key == latest.key);
  CHECK_FALSE(once.suspect(other_problem()));
  CHECK_FALSE(once.find(last));
  earlier.again = latest.again = true;
  journal->records = {earlier, latest};
  const ResumeIndex twice(*journal);
  CHECK_FALSE(twice.find(first));
  REQUIRE(twice.find(last));
  CHECK(twice.find(last)->outcome == Outcome::kCrashed);
}

TEST_CASE("a resumed run names the GPU that measured its finals") {
  SweepFixture fixture;
  FakeEvaluator first(toy_device());
  first.editable_environment().device_uuid = "GPU-a";
  fixture.run_well(first);
  const std::string whole = fixture.text("journal.jsonl");
  fixture.options.resume = true;
  FakeEvaluator again(toy_device());
  again.editable_environment().device_uuid = "GPU-b";
  CHECK(fixture.run_well(again).environment.device_uuid == "GPU-a");
  CHECK(fixture.text("best.json").find(R"("uuid": "GPU-a")") != std::string::npos);
  fixture.options.finals_only = true;
  const SweepResult finals = fixture.run_well(again);
  CHECK(finals.problems.front().seconds > 0);
  CHECK(finals.problems.front().outcomes.at(Outcome::kMeasured) > 0);
  fixture.options.finals_only = false;
  // The final phase ran on the resuming GPU.
  const std::vector<Line> lines = lines_of(whole);
  REQUIRE(replace_file(fixture.options.out / "journal.jsonl",
                       whole.substr(0, lines.at(lines.size() / 2).end)));
  CHECK(fixture.run_well(again).environment.device_uuid == "GPU-b");
}

TEST_CASE("where several GPUs measured finals, each problem names its own") {
  SweepFixture fixture;
  fixture.options.plan.problems.push_back({"other", other_problem()});
  FakeEvaluator first(toy_device());
  first.editable_environment().device_uuid = "GPU-a";
  fixture.run_well(first);
  const std::string whole = fixture.text("journal.jsonl");
  const std::size_t last = whole.rfind(R"({"t":"candidate")");
  REQUIRE(replace_file(fixture.options.out / "journal.jsonl", whole.substr(0, last)));
  fixture.options.resume = true;
  FakeEvaluator second(toy_device());
  second.editable_environment().device_uuid = "GPU-b";
  CHECK(fixture.run_well(second).environment.device_uuid.empty());
  const auto best = load_best_file(fixture.options.out);
  REQUIRE(best);
  CHECK(best->problems[0].gpu == "GPU-a");
  CHECK(best->problems[1].gpu == "GPU-b");
  const std::string suite = fixture.text("suite.json");
  CHECK(suite.find(R"("gpu": "GPU-a")") < suite.find(R"("gpu": "GPU-b")"));
  // A third GPU measures nothing and is not recorded.
  FakeEvaluator third(toy_device());
  third.editable_environment().device_uuid = "GPU-c";
  CHECK(fixture.run_well(third).environment.device_uuid.empty());
  CHECK(fixture.text("best.json").find("GPU-c") == std::string::npos);
}

TEST_CASE("finals behind new candidates, or written anew, are a phase of their own") {
  const Attention problem = test::test_problem(), elsewhere{};
  const auto final_of = [](const Attention& of, const std::string& impl, double us) {
    FinalRecord record;
    record.problem = of;
    record.impl = impl;
    record.hot = Timing{.median_us = us};
    return record;
  };
  CandidateRecord candidate;
  candidate.problem = problem;
  Journal journal;
  journal.records = {candidate,
                     final_of(problem, "a", 1),
                     final_of(problem, "b", 2),
                     final_of(problem, "a", 3),  // the run ended before "c" existed
                     final_of(problem, "c", 4),
                     final_of(elsewhere, "a", 4)};
  REQUIRE(LastFinals(journal.records).of(problem).size() == 2);
  CHECK(LastFinals(journal.records).of(problem).front().hot->median_us == 3);
  CHECK(LastFinals(journal.records).of(problem).back().impl == "c");
  journal.records.emplace_back(candidate);
  CHECK(ResumeIndex(journal).finals(problem).size() == 2);
  journal.records.emplace_back(final_of(problem, "c", 5));
  REQUIRE(ResumeIndex(journal).finals(problem).size() == 1);
  CHECK(ResumeIndex(journal).finals(problem).front().impl == "c");
  CHECK(ResumeIndex(journal).finals(elsewhere).size() == 1);
}

}  // namespace
}  // namespace fatune
