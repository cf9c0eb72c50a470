// saved_best_test.cpp: Checks the content of best.json for export and bench.
#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "sweep_fixture.hpp"
#include "tune/sweep/best.hpp"

using namespace fatune;

namespace {

/// Loads a file with this text.
Result<BestFile> load(const std::string& text) {
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "x.json", text));
  return load_best_file(folder / "x.json");
}

std::string best_with(const std::string& verify) {
  return R"({"schema":"fatune.best/1","problems":[{)"
         R"("problem":{"batch":1,"heads":1,"seq_q":1,"head_dim":64},)"
         R"("best":{"kernel":"k","config":{},"hot":{"median_us":2.5,"ci95_us":[2.4,2.6]})" +
         verify + R"(},"gate":{"baseline":"cudnn","ratio":0.5}}]})";
}

}  // namespace

TEST_CASE("a sweep's folder stands for its best.json, and tells what was measured") {
  test::SweepFixture fixture;
  test::FakeEvaluator evaluator(test::toy_device());
  fixture.run_well(evaluator);
  const auto saved = load_best_file(fixture.options.out);
  REQUIRE(saved);
  REQUIRE(saved->device);
  CHECK(saved->device->limits.arch == test::test_limits().arch);
  CHECK(saved->device->limits.sm_count == test::test_limits().sm_count);
  CHECK_FALSE(saved->head.recorded);
  REQUIRE(saved->problems.size() == 1);
  const BestProblem& winner = saved->problems.front();
  CHECK(winner.problem == test::test_problem());
  CHECK(winner.best->id.size() == 16);
  CHECK(winner.best->hot);
}

TEST_CASE("a folder without best.json names what writes one") {
  const test::TemporaryFolder folder;
  const auto refusal = [&] {
    const auto saved = load_best_file(folder.path());
    REQUIRE_FALSE(saved);
    CHECK(saved.error().kind == ErrorKind::kFile);
    return saved.error().message;
  };
  CHECK(refusal().find("has no journal.jsonl") != std::string::npos);
  std::ofstream(folder.path() / "journal.jsonl").put('\n');
  CHECK(refusal().find("fatune resume") != std::string::npos);
}

TEST_CASE("the times and the gate come along") {
  const auto saved = load(best_with(""));
  REQUIRE(saved);
  const BestProblem& winner = saved->problems.front();
  CHECK(winner.best->hot->median_us == 2.5);
  CHECK(winner.best->hot->ci95_high_us == 2.6);
  CHECK(winner.gate->baseline == "cudnn");
  CHECK(winner.gate->ratio.value == 0.5);
}

TEST_CASE("unverified is what names no gates, skipped them, or failed one") {
  const std::string rest =
      R"("margin":0.5,"worst_rule":"","max_abs_diff":0,"mean_abs_diff":0,"relative_l2":0,)"
      R"("allclose_1e3":true,"seeds":1,"gates":[]})";
  const auto reason = [](const std::string& verify) {
    return why_unverified(*load(best_with(verify))->problems.front().best);
  };
  CHECK(reason(R"(,"verify":{"passed":true,)" + rest).empty());
  CHECK(reason("") == "it names no gates that the config passed");
  CHECK(reason(R"(,"verify":{"passed":false,)" + rest) == "the config failed a gate");
  CHECK(reason(R"(,"verify":{"passed":true,"skipped":true,)" + rest) ==
        "the sweep ran with --skip-correctness");
}

TEST_CASE("a library as best, and damaged fields, are refused by field") {
  const auto library = load(R"({"problems":[{"best":{"impl":"cudnn"}}]})");
  REQUIRE_FALSE(library);
  CHECK(library.error().message.find("'problems[0].best.impl' is cudnn") != std::string::npos);
  for (const char* text :
       {R"({"kernel":"k","config":{},"hot":{"median_us":"x"}})",
        R"({"kernel":"k","config":{},"hot":{"median_us":1,"ci95_us":[1]}})",
        R"({"kernel":"k","config":{},"device":{"sm_count":-1}})",
        R"({"kernel":"k","config":{},"gate":{"ratio":1}})", R"({"kernel":"k","config":[]})",
        R"({"kernel":"k","config":{},"problem":{"batch":0}})", "{", ""}) {
    INFO(text);
    const auto saved = load(text);
    REQUIRE_FALSE(saved);
    CHECK(saved.error().message.find("x.json") != std::string::npos);
  }
}

TEST_CASE("every committed best.json is read") {
  const auto results = std::filesystem::path(FATUNE_SOURCE_DIR) / "results";
  int read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(results)) {
    if (entry.path().filename() != "best.json") continue;
    INFO(entry.path());
    const auto saved = load_best_file(entry.path());
    INFO((saved ? "" : saved.error().message));
    REQUIRE(saved);
    for (const BestProblem& winner : saved->problems) CHECK(winner.problem);
    ++read;
  }
  CHECK(read >= 6);
}
