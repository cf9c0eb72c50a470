// saved_best_test.cpp - best.json with everything that export and bench ask of it.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "sweep_fixture.hpp"
#include "tune/sweep/best.hpp"

using namespace fatune;

namespace {

/// Of a file with this text.
Result<SavedBest> load(const std::string& text) {
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "x.json", text));
  return load_saved_best(folder / "x.json");
}

std::string best_with(const std::string& verify) {
  return R"({"schema":"fatune.best/1","problem":{"batch":1,"heads":1,"seq_q":1,"head_dim":64},)"
         R"("best":{"kernel":"k","config":{},"hot":{"median_us":2.5,"ci95_us":[2.4,2.6]})" +
         verify + R"(},"gate":{"baseline":"cudnn","ratio":0.5}})";
}

}  // namespace

TEST_CASE("a sweep's folder stands for its best.json, and tells what was measured") {
  test::SweepFixture fixture;
  test::FakeEvaluator evaluator(test::toy_device());
  fixture.run_well(evaluator);
  const auto saved = load_saved_best(fixture.options.out);
  REQUIRE(saved);
  CHECK(saved->arch == name(test::test_limits().arch));
  CHECK(saved->sm_count == test::test_limits().sm_count);
  CHECK_FALSE(saved->recorded);
  REQUIRE(saved->winners.size() == 1);
  const SavedWinner& winner = saved->winners.front();
  CHECK(winner.choice.problem == test::test_problem());
  CHECK(winner.id.size() == 16);
  CHECK(winner.hot);
}

TEST_CASE("a folder without best.json names what writes one") {
  const test::TemporaryFolder folder;
  const auto saved = load_saved_best(folder.path());
  REQUIRE_FALSE(saved);
  CHECK(saved.error().kind == ErrorKind::kFile);
  CHECK(saved.error().message.find("--resume") != std::string::npos);
}

TEST_CASE("the times and the gate come along") {
  const auto saved = load(best_with(""));
  REQUIRE(saved);
  const SavedWinner& winner = saved->winners.front();
  CHECK(winner.hot->median_us == 2.5);
  CHECK(winner.hot->ci95_high_us == 2.6);
  CHECK(winner.baseline == "cudnn");
  CHECK(winner.ratio == 0.5);
}

TEST_CASE("unverified is what names no gates, skipped them, or failed one") {
  const std::string rest =
      R"("margin":0.5,"worst_rule":"","max_abs_diff":0,"mean_abs_diff":0,"relative_l2":0,)"
      R"("allclose_1e3":true,"seeds":1,"gates":[]})";
  CHECK(load(best_with(R"(,"verify":{"passed":true,)" + rest))->winners.front().unverified.empty());
  CHECK(load(best_with(""))->winners.front().unverified ==
        "it names no gates that the config passed");
  CHECK(load(best_with(R"(,"verify":{"passed":false,)" + rest))->winners.front().unverified ==
        "the config failed a gate");
  CHECK(load(best_with(R"(,"verify":{"passed":true,"skipped":true,)" + rest))
            ->winners.front()
            .unverified == "the sweep ran with --skip-correctness");
}

TEST_CASE("a library as best, and damaged fields, are refused by field") {
  const auto library = load(R"({"best":{"impl":"cudnn"}})");
  REQUIRE_FALSE(library);
  CHECK(library.error().message.find("'best.impl' is cudnn") != std::string::npos);
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
    const auto saved = load_saved_best(entry.path());
    INFO((saved ? "" : saved.error().message));
    REQUIRE(saved);
    for (const SavedWinner& winner : saved->winners) CHECK(winner.choice.problem);
    ++read;
  }
  CHECK(read >= 10);
}
