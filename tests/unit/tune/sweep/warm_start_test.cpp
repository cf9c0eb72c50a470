// warm_start_test.cpp: Checks problem distances, known configs of files, and warm-started searches.
#include "tune/sweep/warm_start.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "sweep_fixture.hpp"

namespace fatune {
namespace {

using test::FakeEvaluator;
using test::SweepFixture;
using test::toy_device;

const Arch kHopper{90, 'a'};
const Json kBest = {{"TILE", 64}, {"WARPS", 4}, {"STAGES", 2}};

Attention with_length(std::int64_t length) {
  Attention problem = test::test_problem();
  problem.seq_q = problem.seq_kv = length;
  return problem;
}

TEST_CASE("a problem is nearest to itself, then to those of its head dim and architecture") {
  const Attention problem = test::test_problem();
  const auto away = [&](const Attention& other, const Arch& arch = kHopper) {
    return distance(problem, kHopper, other, arch);
  };
  CHECK(away(problem) == 0);
  CHECK(away(with_length(1024)) == 2);
  Attention causal = problem;
  causal.mask = Mask::kCausal;
  CHECK(away(causal) == 1);
  Attention wide = problem;
  wide.head_dim = 128;
  CHECK(away(wide) == 4);
  Attention brain = problem;
  brain.dtype = Dtype::kBf16;
  CHECK(away(brain) == 1);
  Attention grouped = problem;
  grouped.kv_heads = 2;
  CHECK(away(grouped) == 2);
  Attention packed = problem;
  packed.layouts = *parse_layouts("packed");
  CHECK(away(packed) == 0.25);
  CHECK(away(problem, Arch{90, 0}) == 0);
  CHECK(away(problem, Arch{80, 0}) == 6);
  CHECK(distance(problem, {86, 0}, problem, {80, 0}) == 2);
}

TEST_CASE("known configs come nearest first, each once, of one kernel") {
  const std::vector<SavedConfig> known = {
      {"k", {{"A", 1}}, with_length(4096), "", kHopper, "far"},
      {"k", {{"A", 2}}, with_length(1024), "", kHopper, "near"},
      {"k", {{"A", 2}}, with_length(2048), "", kHopper, "again"},
      {"other", {{"A", 3}}, with_length(512), "", kHopper, "none"}};
  const auto nearest = nearest_known(known, "k", with_length(512), kHopper);
  REQUIRE(nearest.size() == 2);
  CHECK(nearest[0].source == "near");
  CHECK(nearest[1].source == "far");
}

TEST_CASE("the nearest to a layout is the same one, then another one of the same sizes") {
  Attention packed = with_length(512);
  packed.layouts = *parse_layouts("packed");
  const std::vector<SavedConfig> known = {
      {"k", {{"A", 1}}, with_length(640), "", kHopper, "longer"},
      {"k", {{"A", 2}}, with_length(512), "", kHopper, "bhsd"},
      {"k", {{"A", 3}}, packed, "", kHopper, "packed"}};
  const auto nearest = nearest_known(known, "k", packed, kHopper);
  REQUIRE(nearest.size() == 3);
  CHECK(nearest[0].source == "packed");
  CHECK(nearest[1].source == "bhsd");
}

TEST_CASE("best.json, a journal and a run's folder know the best of each kernel") {
  SweepFixture fixture;
  fixture.options.plan.budget_evaluations = 500;
  fixture.kernels = {test::toy_kernel("one"), test::toy_kernel("two")};
  FakeEvaluator evaluator(toy_device());
  fixture.run_well(evaluator);
  const auto run = fixture.options.out;
  for (const auto& path : {run / "best.json", run / "journal.jsonl", run}) {
    CAPTURE(path);
    const auto known = load_known(path);
    REQUIRE(known);
    REQUIRE(known->size() == 2);
    for (const SavedConfig& each : *known) {
      CHECK(each.config == kBest);
      CHECK(each.problem == test::test_problem());
      CHECK(each.arch == kHopper);
    }
  }
  CHECK(known_of_runs(fixture.folder.path(), fixture.folder / "another").size() == 2);
  CHECK(known_of_runs(fixture.folder.path(), run).empty());
  REQUIRE(make_directories(fixture.folder / "broken"));
  REQUIRE(replace_file(fixture.folder / "broken" / "best.json", "{"));
  CHECK(known_of_runs(fixture.folder.path(), fixture.folder / "another").size() == 2);
}

TEST_CASE("what is no result is refused with its name") {
  test::TemporaryFolder folder;
  const auto message = [&](const std::string& file, const std::string& text) {
    REQUIRE(replace_file(folder / file, text));
    const auto known = load_known(folder / file);
    REQUIRE_FALSE(known);
    return known.error().message;
  };
  CHECK(message("gate.json", R"({"schema":"fatune.gate/1"})").find("fatune.known/1") !=
        std::string::npos);
  CHECK(message("best.json", R"({"schema":"fatune.best/3"})").find("newer fatune") !=
        std::string::npos);
  CHECK(message("list.json", "[]").find("not a JSON object") != std::string::npos);
  CHECK_FALSE(load_known(folder.path()));
  CHECK_FALSE(load_known(folder / "missing"));
  const auto wrong = parse_known(
      R"({"schema":"fatune.known/1","arch":"sm_9","configs":[{"problem":{}}]})", "known.json");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.find("known.json") != std::string::npos);
}

TEST_CASE("a search starts from what was best for the nearest problem, and says so") {
  SweepFixture fixture;
  // An older version lacks STAGES and has a removed parameter; STAGES gets its default.
  const Json off = {{"TILE", 128}, {"WARPS", 4}, {"UNROLL", 2}};
  const Json invalid = {{"TILE", 16}, {"WARPS", 8}, {"STAGES", 1}};
  const Json unknown = {{"TILE", 5}, {"WARPS", 8}, {"STAGES", 1}};
  fixture.options.known = {{"toy", off, with_length(4096), "", kHopper, "far.json"},
                           {"toy", invalid, with_length(512), "", kHopper, "invalid.json"},
                           {"toy", unknown, with_length(512), "", kHopper, "unknown.json"},
                           {"toy", kBest, with_length(1024), "", kHopper, "near.json"},
                           {"absent", kBest, with_length(512), "", kHopper, "absent.json"}};
  FakeEvaluator evaluator(toy_device());
  const SweepResult result = fixture.run_well(evaluator);
  // The default config is ruled out here; see sweep_test.cpp.
  CHECK(result.problems.front().candidates[0].config == kBest);
  CHECK(describe_config(result.problems.front().candidates[1].config) ==
        "TILE=128 WARPS=4 STAGES=1");
  const Json starts = best_json(result).at("problems").at(0).at("search").at("warm_starts");
  REQUIRE(starts.size() == 2);
  CHECK(starts[0].at("source") == "near.json");
  CHECK(starts[1].at("source") == "far.json");

  CHECK(starts[1].at("config") == Json({{"TILE", 128}, {"WARPS", 4}, {"STAGES", 1}}));
  REQUIRE(result.problems.front().known_best() != nullptr);
  CHECK(result.problems.front().known_best()->source == "near.json");

  SECTION("and a resumed run starts from what its journal says") {
    const std::string whole = fixture.text("journal.jsonl");
    const std::string best = fixture.text("best.json");
    fixture.options.resume = true;
    fixture.options.known = {{"toy", off, with_length(512), "", kHopper, "later.json"}};
    FakeEvaluator idle(toy_device());
    fixture.run_well(idle);
    CHECK(idle.evaluated().empty());
    CHECK(fixture.text("journal.jsonl") == whole);
    CHECK(fixture.text("best.json") == best);
  }
}

TEST_CASE("without a search the final phase takes what is known, and the default config") {
  SweepFixture fixture;
  fixture.options.plan.strategy = kKnownStrategy;
  fixture.options.plan.budget_evaluations = 0;
  const Json other = {{"TILE", 128}, {"WARPS", 4}, {"STAGES", 2}};
  fixture.options.known = {{"toy", other, with_length(1024), "", kHopper, "near.json"}};
  const auto tried = [&] {
    FakeEvaluator evaluator(toy_device());
    const SweepResult result = fixture.run_well(evaluator);
    std::vector<std::string> configs;
    for (const CandidateRecord& record : result.problems.front().candidates)
      configs.push_back(describe_config(record.config));
    return configs;
  };
  SECTION("the nearest where nothing is known for exactly this problem") {
    CHECK(tried() == std::vector<std::string>{"TILE=128 WARPS=4 STAGES=2"});
  }
  SECTION("else that alone") {
    fixture.options.known.push_back(
        {"toy", kBest, test::test_problem(), "", kHopper, "exact.json"});
    CHECK(tried() == std::vector<std::string>{"TILE=64 WARPS=4 STAGES=2"});
  }
}

}  // namespace
}  // namespace fatune
