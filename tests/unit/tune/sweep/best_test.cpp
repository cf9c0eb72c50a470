// best_test.cpp: Reads configs from best.json and bare config files.
#include "tune/sweep/best.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "sweep_fixture.hpp"

namespace fatune {
namespace {

using test::FakeEvaluator;
using test::SweepFixture;
using test::toy_device;

std::string error_of(const test::TemporaryFolder& folder, const std::string& text) {
  REQUIRE(replace_file(folder / "x.json", text));
  const auto loaded = load_best_file(folder / "x.json");
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().kind == ErrorKind::kFile);
  return loaded.error().message;
}

TEST_CASE("a suite's best.json gives a config for each problem") {
  SweepFixture fixture;
  fixture.options.plan.problems.push_back({"again", test::test_problem()});
  fixture.options.plan.problems.back().problem.as_attention().batch = 2;
  FakeEvaluator evaluator(toy_device());
  fixture.run_well(evaluator);
  const auto loaded = load_best_file(fixture.options.out / "best.json");
  REQUIRE(loaded);
  const std::vector<SavedConfig> configs = configs_of(*loaded);
  REQUIRE(configs.size() == 2);
  CHECK(configs[0].problem_name == "mission");
  CHECK(configs[0].problem == test::test_problem());
  CHECK(dump(configs[0].config) == R"({"TILE":64,"WARPS":4,"STAGES":2})");
  CHECK(configs[1].problem_name == "again");
  CHECK(configs[1].problem->as_attention().batch == 2);
}

TEST_CASE("a bare config is read too, with or without its problem") {
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "c.json", R"({"kernel":"fa_mma","config":{"BLOCK_M":64}})"));
  const auto loaded = load_best_file(folder / "c.json");
  REQUIRE(loaded);
  CHECK(configs_of(*loaded).front().kernel == "fa_mma");
  CHECK_FALSE(configs_of(*loaded).front().problem);
}

TEST_CASE("what holds no config is refused with file and field") {
  const test::TemporaryFolder folder;
  CHECK(error_of(folder, R"({"schema":"fatune.best/3"})").find("newer fatune") !=
        std::string::npos);
  CHECK(error_of(folder, R"({"schema":"else/1"})")
            .find("x.json: field 'schema' is 'else/1', not fatune.best/1") != std::string::npos);
  CHECK(error_of(folder, R"({"problems":[{"best":null}]})").find("'problems[0].best'") !=
        std::string::npos);
  CHECK(error_of(folder, R"({"problems":[]})").find("'problems' is empty") != std::string::npos);
  CHECK(error_of(folder, R"({"kernel":1,"config":{}})").find("'kernel'") != std::string::npos);
  CHECK(error_of(folder, "[]").find("x.json") != std::string::npos);
}

TEST_CASE("best.json from before the first release names the program that reads it") {
  const test::TemporaryFolder folder;
  for (const char* text :
       {R"({"schema":"fatune.best/2","problems":[]})",
        R"({"schema":"fatune.best/1","problem":{},"best":{"kernel":"k","config":{}}})",
        R"({"schema":"fatune.best/1","problems":[{"best":{"verify":{"gates":["launch"]}}}]})"}) {
    CAPTURE(text);
    CHECK(error_of(folder, text)
              .ends_with(" from before the first release; fatune at commit 2b9a2ab5 reads it"));
  }
}

TEST_CASE("skipped correctness and a recording are marked") {
  SweepFixture fixture;
  fixture.options.plan.skip_correctness = true;
  FakeEvaluator evaluator(toy_device());
  evaluator.editable_environment().recorded = true;
  const Json best = best_json(fixture.run_well(evaluator));
  CHECK(best.at("correctness") == "skipped");
  CHECK(best.at("recorded") == true);
}

}  // namespace
}  // namespace fatune
