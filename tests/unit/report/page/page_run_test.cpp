// page_run_test.cpp: Tests loading complete, unfinished and resumed journals with their best.json.
#include "report/page/page_run.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "page_sample.hpp"
#include "report/page/report_page.hpp"

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

TEST_CASE("of two final phases the last counts, with its contestants alone") {
  std::vector<Record> records = test::sample_records();
  records.push_back(test::contestant("fatune:fa_mma", RowRole::kFinalist, 9));
  const PageRun run = test::SampleRun(records).load();
  const auto& finals = run.problems.front().result.finals;
  REQUIRE(finals.size() == 1);
  CHECK(finals.front().hot->median_us == 9);
}

TEST_CASE("best.json beside the journal names the winner, an unreadable one nobody") {
  std::vector<Record> records = test::sample_records();
  FinalRecord slower = test::contestant("fatune:fa_tiled", RowRole::kFinalist, 11);
  slower.id = "0000000000000015";
  records.push_back(slower);
  const test::SampleRun sample(records);
  CHECK(sample.load().problems.front().result.best()->kernel == "fa_mma");

  const Json problem = {{"problem", to_json(test::kMission)}, {"best", {{"id", slower.id}}}};
  const Json best = {{"schema", "fatune.best/1"}, {"problems", Json::array({problem})}};
  REQUIRE(replace_file(sample.path() / "best.json", dump(best)));
  CHECK(sample.load().problems.front().result.best()->kernel == "fa_tiled");

  REQUIRE(replace_file(sample.path() / "best.json", "{\"best\": [1, 2"));
  CHECK(sample.load().problems.front().result.best()->kernel == "fa_mma");
}

PageRun run_at(const std::string& source, const std::string& device = "NVIDIA H200") {
  PageRun run;
  run.name = std::filesystem::path(source).parent_path().filename().string();
  run.source = source;
  run.header.environment.device_name = device;
  return run;
}

TEST_CASE("runs have distinct labels: GPU, name, or the part of the path that differs") {
  using Labels = std::vector<std::string>;
  const PageRun suite = run_at("/a/h200/suite/journal.jsonl");
  const PageRun moved = run_at("/a/later/suite/journal.jsonl");
  const PageRun deeper = run_at("/b/later/suite/journal.jsonl");
  const PageRun other = run_at("/a/h200/decode/journal.jsonl");
  const PageRun smaller = run_at("/a/h100/suite/journal.jsonl", "NVIDIA H100");
  CHECK(run_labels(std::vector{suite}) == Labels{"suite"});
  CHECK(run_labels(std::vector{suite, smaller}) == Labels{"NVIDIA H200", "NVIDIA H100"});
  CHECK(run_labels(std::vector{suite, other}) == Labels{"suite", "decode"});
  CHECK(run_labels(std::vector{suite, moved}) == Labels{"h200", "later"});
  CHECK(run_labels(std::vector{moved, deeper}) == Labels{"a", "b"});
  CHECK(run_labels(std::vector{suite, moved, deeper}) == Labels{"a/h200", "a/later", "b/later"});
  CHECK(run_labels(std::vector{suite, moved, other}) ==
        Labels{"h200/suite", "later/suite", "h200/decode"});
  CHECK(run_labels(std::vector{suite, suite}) == Labels{"suite, 1", "suite, 2"});
}

/// Keeps a profile of a candidate in the run's folder, as `fatune profile` does.
void keep(const test::SampleRun& sample, const std::string& id) {
  ProfiledConfig config{{"", test::kMission}, "fa_mma", Json::object(), id, {}, {}};
  config.profile.facts.resources = Resources{.registers = 96, .threads = 128, .blocks_per_sm = 2};
  config.profile.facts.blocks = 528;
  config.profile.facts.sm_count = 132;
  config.profile.outcome.status = ProfileStatus::kProfiled;
  config.profile.outcome.report = id + ".ncu-rep";
  Counters& counters = config.profile.outcome.launches.emplace_back();
  counters.kernel = "fa_mma";
  counters.time_us = 12;
  counters.tensor_pct = 75;
  const auto file = kept_profile(sample.path(), id, ".json");
  const Environment environment = test::sample_header().environment;
  REQUIRE(make_directories(file.parent_path()));
  REQUIRE(replace_file(file, dump_pretty(to_json(ProfileDocument{{}, environment, {config}}))));
}

TEST_CASE("counters that the run's folder keeps belong to its candidates") {
  const test::SampleRun sample;
  CHECK(sample.load().profiles.empty());
  keep(sample, "0000000000000012");
  keep(sample, "00000000000000ff");  // no candidate of the run
  REQUIRE(replace_file(kept_profile(sample.path(), "broken", ".json"), "{"));
  REQUIRE(replace_file(kept_profile(sample.path(), "0000000000000012", ".ncu-rep"), "not ours"));
  const PageRun run = sample.load();
  REQUIRE(run.profiles.size() == 1);
  const Profile& profile = run.profiles.front().profile;
  CHECK(run.profiles.front().id == "0000000000000012");
  CHECK(profile.outcome.report == "0000000000000012.ncu-rep");
  REQUIRE(profile.outcome.launches.size() == 1);
  CHECK(profile.outcome.launches.front().tensor_pct == 75);
  CHECK(profile.facts.waves() == 2);
}

TEST_CASE(
    "a page tells counters with their reading, and leads to ncu's report from where it lies") {
  const test::SampleRun sample;
  keep(sample, "0000000000000012");
  const auto page = [&](const std::filesystem::path& file) {
    return report_page({sample.load()}, file);
  };
  const auto below = page(sample.path().parent_path() / "report.html");
  CHECK(below.find(R"("report":"profiles/0000000000000012.ncu-rep")") != std::string::npos);
  CHECK(below.find("the tensor cores are 75.0 % active") != std::string::npos);
  CHECK(below.find(R"("folder":"sample")") != std::string::npos);
  CHECK(page(sample.path() / "report.html").find(R"("folder":".")") != std::string::npos);
  CHECK(page("/elsewhere/report.html").find(R"("folder":"")") != std::string::npos);
  CHECK(page("").find(R"("folder":"")") != std::string::npos);
}

}  // namespace
}  // namespace fatune
