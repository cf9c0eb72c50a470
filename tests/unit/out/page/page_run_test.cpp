// page_run_test.cpp - journals whole, unfinished and continued; who is best when best.json says so.
#include "out/page/page_run.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/fields.hpp"
#include "page_sample.hpp"

namespace fatune {
namespace {

TEST_CASE("a run has its name, its kernels in groups and its finals settled") {
  const test::SampleRun sample;
  const PageRun run = sample.load();
  CHECK(run.name == "sample");
  CHECK(run.status == "complete");
  REQUIRE(run.problems.size() == 1);
  const PageProblem& problem = run.problems.front();
  REQUIRE(problem.groups.size() == 2);
  CHECK(problem.groups[0].configs.size() == 4);
  REQUIRE(problem.result.best() != nullptr);
  CHECK(problem.result.best()->impl == "fatune:fa_mma");
  REQUIRE(problem.result.gate.has_value());
  CHECK(problem.result.gate->passed);
}

TEST_CASE("without an end a run is unfinished, also when it went on after one") {
  std::vector<Record> records = test::sample_records();
  records.pop_back();
  CHECK(test::SampleRun(records).load().status == "unfinished");
  records.push_back(EndRecord{"interrupted", 7});
  CHECK(test::SampleRun(records).load().status == "interrupted");
  records.push_back(test::candidate(7, "fa_mma", 512, 11));
  CHECK(test::SampleRun(records).load().status == "unfinished");
}

TEST_CASE("of a contestant that was measured twice the last counts") {
  std::vector<Record> records = test::sample_records();
  records.push_back(test::contestant("fatune:fa_mma", "finalist", 9));
  const PageRun run = test::SampleRun(records).load();
  const auto& finals = run.problems.front().result.finals;
  REQUIRE(finals.size() == 2);
  CHECK(finals.front().hot->median_us == 9);
}

TEST_CASE("best.json beside the journal names the winner, an unreadable one nobody") {
  std::vector<Record> records = test::sample_records();
  FinalRecord slower = test::contestant("fatune:fa_tiled", "finalist", 11);
  slower.id = "0000000000000015";
  records.push_back(slower);
  const test::SampleRun sample(records);
  CHECK(sample.load().problems.front().result.best()->kernel == "fa_mma");

  const Json best = {{"problem", to_json(test::kMission)}, {"best", {{"id", slower.id}}}};
  REQUIRE(replace_file(sample.path() / "best.json", dump(best)));
  CHECK(sample.load().problems.front().result.best()->kernel == "fa_tiled");

  REQUIRE(replace_file(sample.path() / "best.json", "{\"best\": [1, 2"));
  CHECK(sample.load().problems.front().result.best()->kernel == "fa_mma");
}

}  // namespace
}  // namespace fatune
