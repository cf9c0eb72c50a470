// saved_result_test.cpp: Checks rounds of earlier measurements, and refusals that name both sides.
#include "tune/sweep/saved_result.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "sweep_fixture.hpp"
#include "tune/sweep/comparison.hpp"

namespace fatune {
namespace {

using test::FakeEvaluator;
using test::SweepFixture;
using test::toy_device;

/// A bench of the toy's default config beside the reference.
std::filesystem::path saved_bench(const test::TemporaryFolder& folder, RowRole role) {
  const KernelRef toy = test::toy_kernel(), naive = test::reference_kernel();
  const Attention problem = test::test_problem();
  const std::vector<Implementation> rows = {
      {"fatune:toy", role, {toy, default_config(toy->manifest), problem}, {}},
      {"naive", RowRole::kBaseline, {naive, default_config(naive->manifest), problem}, {}}};
  FakeEvaluator evaluator(toy_device());
  BenchResult result;
  FinalPlan plan;
  plan.rounds = 20;
  REQUIRE(
      run_bench({{{"mission", problem}, rows}}, plan, evaluator, result, [] { return Status(); }));
  REQUIRE(replace_file(folder / "bench.json", dump_pretty(to_json(result))));
  return folder / "bench.json";
}

TEST_CASE("a bench file gives its finalist back, or all rows when it has none") {
  const test::TemporaryFolder folder;
  FakeEvaluator evaluator(toy_device());
  const auto saved = load_saved_result(saved_bench(folder, RowRole::kFinalist));
  REQUIRE(saved);
  const auto rows = saved_rows(*saved, test::test_problem(), evaluator.environment());
  REQUIRE(rows);
  REQUIRE(rows->size() == 1);
  CHECK(rows->front().impl == "fatune:toy");
  CHECK(rows->front().hot_rounds_us.size() == 20);

  const auto all = load_saved_result(saved_bench(folder, RowRole::kBaseline));
  REQUIRE(all);
  CHECK(all->rows.size() == 2);
}

TEST_CASE("best.json gives the rounds of its best from the journal beside it") {
  SweepFixture fixture;
  FakeEvaluator evaluator(toy_device());
  const SweepResult sweep = fixture.run_well(evaluator);
  const auto best = fixture.options.out / "best.json";
  CHECK(holds_measurements(best));
  const auto saved = load_saved_result(best);
  REQUIRE(saved);
  REQUIRE(saved->rows.size() == 1);
  CHECK(saved->rows.front().id == sweep.problems.front().best()->id);
  CHECK(saved->rows.front().hot_rounds_us == sweep.problems.front().best()->hot_rounds_us);

  std::filesystem::remove(fixture.options.out / "journal.jsonl");
  const auto alone = load_saved_result(best);
  REQUIRE_FALSE(alone);
  CHECK(alone.error().message.find("has no journal.jsonl beside it") != std::string::npos);
}

TEST_CASE("every committed bench is read") {
  for (const char* name : {"bench-1.json", "bench-2.json"}) {
    const auto path = std::filesystem::path(FATUNE_SOURCE_DIR) / "results/h200" / name;
    INFO(path);
    const auto saved = load_saved_result(path);
    INFO((saved ? "" : saved.error().message));
    REQUIRE(saved);
    CHECK(saved->environment.device_name == "NVIDIA H200");
    CHECK(saved->environment.driver == "580.159.04");
    REQUIRE(saved->rows.size() == 1);
    const FinalRecord& row = saved->rows.front();
    CHECK(row.hot_rounds_us.size() >= 40);
    CHECK(row.hot->ci95_low_us < row.hot->median_us);
    CHECK(row.hot->q3_us > row.hot->q1_us);
    CHECK(row.verification->gates.size() > 5);
    CHECK(saved_rows(*saved, row.problem, saved->environment));
  }
}

TEST_CASE("a bench that is written is read again") {
  const test::TemporaryFolder folder;
  const auto json = load_json(saved_bench(folder, RowRole::kFinalist));
  REQUIRE(json);
  CHECK(json->at("schema") == "fatune.bench/1");
  auto again = read_value<BenchResult>(*json, "bench.json");
  REQUIRE(again);
  for (BenchProblem& problem : again->problems) {
    for (FinalRecord& row : problem.rows) row.problem = problem.problem.problem;
  }
  CHECK(dump(to_json(*again)) == dump(*json));
}

TEST_CASE("another device or problem is refused, both named") {
  const test::TemporaryFolder folder;
  FakeEvaluator evaluator(toy_device());
  const auto saved = load_saved_result(saved_bench(folder, RowRole::kFinalist));
  REQUIRE(saved);
  Attention other = test::test_problem();
  other.seq_q = other.seq_kv = 1024;
  const auto problem = saved_rows(*saved, other, evaluator.environment());
  REQUIRE_FALSE(problem);
  CHECK(problem.error().kind == ErrorKind::kUsage);
  CHECK(problem.error().message.find("holds 4,8,512,64 f16, not 4,8,1024,64 f16") !=
        std::string::npos);
  evaluator.editable_environment().device_name = "Formula 2";
  const auto device = saved_rows(*saved, test::test_problem(), evaluator.environment());
  REQUIRE_FALSE(device);
  CHECK(device.error().message.find("was measured on Formula 1 (sm_90a), this is Formula 2") !=
        std::string::npos);
}

TEST_CASE("what is no saved result says why") {
  const test::TemporaryFolder folder;
  const auto error = [&](const std::string& text) {
    REQUIRE(replace_file(folder / "x.json", text));
    const auto loaded = load_saved_result(folder / "x.json");
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().message.find("x.json") != std::string::npos);
    return loaded.error().message;
  };
  CHECK(error(R"({"schema":"fatune.bench/3"})").find("newer fatune") != std::string::npos);
  CHECK(error(R"({"schema":"else/1"})").find("'else/1'") != std::string::npos);
  CHECK(error(R"({"schema":"fatune.best/1","problems":[]})").find("no correct candidate") !=
        std::string::npos);
  CHECK(error(R"({"schema":"fatune.bench/1","environment":{}})").find("commit 2b9a2ab5 reads it") !=
        std::string::npos);
  CHECK(error("[]").find("not a JSON object") != std::string::npos);
  REQUIRE(replace_file(folder / "x.json", R"({"kernel":"toy","config":{}})"));
  CHECK_FALSE(holds_measurements(folder / "x.json"));
  CHECK_FALSE(holds_measurements(folder / "none.json"));
}

}  // namespace
}  // namespace fatune
