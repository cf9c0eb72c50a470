// page_json_test.cpp: Tests the page's document: columns, reasons, ratios, floors.
#include "out/page/page_json.hpp"

#include <array>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/results/statistics.hpp"
#include "page_sample.hpp"

namespace fatune {
namespace {

Json problem_of(const test::SampleRun& sample) {
  const std::array runs = {sample.load()};
  const Json page = to_json(page_document(runs, Depth::kFull, {"1.0", "fatune report run", false}));
  CHECK(page["schema"] == "fatune.page/1");
  CHECK(page["command"] == "fatune report run");
  return page["runs"][0]["problems"][0];
}

TEST_CASE("numbers are short, and close") {
  CHECK(dump(rounded(6.280444355474577)) == "6.2804");
  CHECK(dump(rounded(1466.194, 5)) == "1466.2");
  CHECK(dump(rounded(0.000123456789)) == "0.00012346");
  CHECK(rounded(0) == 0);
  CHECK(rounded(-12345678, 3) == -12300000);
  CHECK(rounded(1.0 / 0.0) == 0);
}

TEST_CASE("candidates are columns in the order tried, configs positions in lists of values") {
  const Json problem = problem_of(test::SampleRun());
  const Json& candidates = problem["candidates"];
  CHECK(dump(candidates["kernel"]) == "[0,0,0,0,1,1]");
  CHECK(dump(problem["kernels"][0]["parameters"][0]) ==
        R"({"name":"TILE","values":[32,64,128,256]})");
  CHECK(dump(candidates["config"][3]) == "[3,1]");
  CHECK(dump(candidates["hot_median_us"]) == "[12.0,10.0,null,null,80.0,null]");
  for (const auto& [name, column] : candidates.items()) CHECK(column.size() == 6);
  CHECK(problem["kernels"][0]["importance"].is_null());
}

TEST_CASE("kernels and finals tell their colour, baselines have none") {
  const Json problem = problem_of(test::SampleRun());
  CHECK(problem["kernels"][0]["colour"] == 2);
  CHECK(problem["kernels"][1]["colour"] == 5);
  CHECK(problem["finals"][0]["colour"] == 2);
  CHECK_FALSE(problem["finals"][1].contains("colour"));
}

TEST_CASE("a final that was timed again says so") {
  std::vector<Record> records = test::sample_records();
  for (Record& record : records) {
    if (auto* final = std::get_if<FinalRecord>(&record)) final->timed_again = !final->is_baseline();
  }
  const Json problem = problem_of(test::SampleRun(records));
  CHECK(problem["finals"][0]["timed_again"] == true);
  CHECK_FALSE(problem["finals"][1].contains("timed_again"));
}

TEST_CASE("waves are of the journal's grids; without them the page says why they are unknown") {
  const auto told = [](std::int64_t blocks) {
    std::vector<Record> records = test::sample_records();
    auto& first = std::get<CandidateRecord>(records.front());
    first.resources = Resources{.registers = 96, .threads = 128, .blocks_per_sm = 2};
    first.resources->blocks = blocks;
    return problem_of(test::SampleRun(records));
  };
  const Json known = told(528);
  CHECK(dump(known["candidates"]["waves"]) == "[2.0,null,null,null,null,null]");
  CHECK_FALSE(known["kernels"][0].contains("waves_unknown"));
  const Json unknown = told(0);
  CHECK(unknown["candidates"]["waves"][0].is_null());
  CHECK(unknown["kernels"][0]["waves_unknown"] ==
        "the journal has no grids, and this program's kernel of that name is not the run's");
  CHECK_FALSE(unknown["kernels"][1].contains("waves_unknown"));  // nothing is known of its launches
}

TEST_CASE("reasons that differ in numbers alone are counted together, with an example") {
  const Json problem = problem_of(test::SampleRun());
  for (const Json& outcome : problem["outcomes"]) {
    if (outcome["outcome"] != "wrong_result") continue;
    CHECK(outcome["count"] == 2);
    REQUIRE(outcome["reasons"].size() == 1);
    CHECK(outcome["reasons"][0]["example"] == "margin 3.1 in block 4");
  }
}

TEST_CASE("the best comes first, with its ratio to each baseline") {
  const Json problem = problem_of(test::SampleRun());
  CHECK(problem["has_best"] == true);
  CHECK(problem["finals"][0]["impl"] == "fatune:fa_mma");
  CHECK(problem["finals"][0]["to_baseline"]["ratio"] == 0.8);
  CHECK(problem["finals"][1]["best_over_this"] == 0.8);
  CHECK(problem["gate"]["pass"] == true);
  CHECK(problem["hardware"]["tensor_tflops"] == 1070.5);
  CHECK(problem["hardware"]["in_layer_floor"] == problem["hardware"]["hot_floor"]);
  // (12.5 - 2.006) / (12.5 - 2.006 + 10 - 2.006)
  CHECK(problem["sol"] == Json({{"score", 0.56761},
                                {"time", "hot"},
                                {"floor_us", 2.006},
                                {"floor_why", "2.15 GFLOP at 1071 TFLOP/s"}}));
}

TEST_CASE("the time that ranks is named, and rounds of every time are told") {
  CHECK(problem_of(test::SampleRun())["time"] == "hot");
  std::vector<Record> records = test::sample_records();
  for (Record& record : records) {
    auto* final = std::get_if<FinalRecord>(&record);
    if (final == nullptr) continue;
    final->in_layer = test::timing(final->hot->median_us + 1);
    final->plain = test::timing(final->hot->median_us + 0.5);
    final->in_layer_rounds_us = std::vector<double>(kLeastSamples, 11.2);
    final->in_layer_rounds_us.front() = 11.000004;
    final->plain_rounds_us = std::vector<double>(kLeastSamples, 10.5);
  }
  const Json problem = problem_of(test::SampleRun(records));
  CHECK(problem["time"] == "in_layer");
  CHECK(problem["search_time"] == "hot");
  CHECK(problem["finals"][0]["in_layer"]["median_us"] == 11);
  const Json& final = problem["finals"][0];
  CHECK(final["in_layer_rounds_us"].size() == kLeastSamples);
  CHECK(dump(final["in_layer_rounds_us"]).starts_with("[11.0,11.2,"));
  CHECK(dump(final["plain_rounds_us"]).starts_with("[10.5,"));
  CHECK(problem["finals"][1]["best_over_this"] == 0.81481);
}

TEST_CASE("machine code holds each line once, and counts over all entries") {
  const test::SampleRun sample;
  PageRun run = sample.load();
  const auto code = [](const std::string& id, const std::string& sass, bool remade) {
    return PageCode{id, remade, parse_sass(sass), sass_lines(sass)};
  };
  run.code = {code("12",
                   ".text.main:\n/*0000*/ LDS.128 R4, [R9] ;\n/*0010*/ EXIT ;\n"
                   ".text.combine:\n/*0000*/ LDS.128 R4, [R9] ;\n/*0010*/ EXIT ;\n",
                   false),
              code("13", ".text.main:\n/*0000*/ EXIT ;\n", true)};
  const Json page = to_json(page_document(std::array{run}, Depth::kFull, {}));
  const Json& told = page["runs"][0]["code"];
  CHECK(dump(told["lines"]) == R"(["main:","LDS.128 R4, [R9]","EXIT","combine:"])");
  CHECK(dump(told["listings"][0]["lines"]) == "[0,1,2,3,1,2]");
  CHECK(told["listings"][0]["instructions"] == 4);
  CHECK(told["listings"][0]["counts"]["shared loads of 128 bits"] == 2);
  CHECK_FALSE(told["listings"][0].contains("remade"));
  CHECK(told["listings"][1]["remade"] == true);
  CHECK_FALSE(
      to_json(page_document(std::array{sample.load()}, Depth::kFull, {}))["runs"][0].contains(
          "code"));
}

TEST_CASE("a candidate with which the search began is marked, with what knew it") {
  JournalHeader header = test::sample_header();
  SavedConfig known;
  known.kernel = "fa_mma";
  known.config = {{"TILE", 64}};
  known.problem = test::kMission;
  known.arch = header.environment.limits.arch;
  known.source = "/somewhere/runs/first/best.json: mission";
  header.plan.warm_starts = {known};
  const Json problem = problem_of(test::SampleRun(test::sample_records(), header));
  CHECK(dump(problem["warm_starts"]) == R"([{"candidate":1,"source":"best.json: mission"}])");
  CHECK_FALSE(problem_of(test::SampleRun()).contains("warm_starts"));
}

TEST_CASE("a page names no path, host or device of its maker") {
  CHECK(without_folders("fatune sweep --out /somewhere/runs/a --kernel-dir=~/own --suite s.json") ==
        "fatune sweep --out a --kernel-dir=own --suite s.json");
  CHECK(without_folders("fatune report results/h200 '/a b/c'") ==
        "fatune report results/h200 'a b/c'");
  JournalHeader header = test::sample_header();
  header.environment.host = "Linux 6.1, a CPU";
  header.environment.device_uuid = "GPU-1";
  header.plan.command = "fatune sweep --out /somewhere/runs/a";
  const std::array runs = {test::SampleRun(test::sample_records(), header).load()};
  const std::string page = dump(to_json(
      page_document(runs, Depth::kFull, {"1.0", "fatune report /somewhere/runs/a", false})));
  for (const char* word : {"/somewhere", "6.1", "GPU-1", "journal.jsonl"})
    CHECK(page.find(word) == std::string::npos);
  CHECK(page.find("fatune report a") != std::string::npos);
}

TEST_CASE("a custom operation has GB/s where it tells no flops") {
  Problem own;
  own.custom = {.operation = "rmsnorm",
                .sizes = {{"ROWS", 4096}, {"COLUMNS", 1024}},
                .bytes_read = 8'390'656,
                .bytes_written = 8'388'608};
  JournalHeader header = test::sample_header();
  header.plan.problems = {{"", own}};
  FinalRecord best = test::contestant("fatune:rmsnorm", RowRole::kFinalist, 10);
  best.problem = own;
  const auto told = [&] {
    return problem_of(test::SampleRun({best, EndRecord{"complete", 1}}, header));
  };
  const Json bytes = told();
  CHECK(bytes["label"] == "rmsnorm ROWS=4096,COLUMNS=1024 f16");
  CHECK(bytes["flops"] == 0);
  CHECK(bytes["least_bytes"] == 16'779'264);
  CHECK(bytes["finals"][0]["gbytes_per_s"].get<double>() ==
        Catch::Approx(1677.9264).epsilon(1e-12));
  CHECK_FALSE(bytes["finals"][0].contains("tflops"));
  header.plan.problems[0].problem.custom->flops = best.problem.custom->flops = 20'000'000;
  const Json flops = told();
  CHECK(flops["finals"][0]["tflops"] == 2);
  CHECK_FALSE(flops["finals"][0].contains("gbytes_per_s"));
}

TEST_CASE("a device without known peaks gets a sentence instead of a roof") {
  JournalHeader header = test::sample_header();
  header.environment.limits.arch = {61, 0};
  const Json problem = problem_of(test::SampleRun(test::sample_records(), header));
  CHECK(problem["hardware"]["unknown"] == "the peak rate of sm_61 is not in the table");
  CHECK_FALSE(problem.contains("sol"));
}

TEST_CASE("nothing measured: no best, no gate, every reason") {
  const std::vector<Record> records = {
      test::candidate(1, "fa_mma", 32, 0, Outcome::kTimeout, "no answer in 5 s")};
  const Json problem = problem_of(test::SampleRun(records));
  CHECK(problem["has_best"] == false);
  CHECK(problem["gate"].is_null());
  CHECK(problem["finals"].empty());
  CHECK(problem["reasons"][0] == "no answer in 5 s");
}

TEST_CASE("a config that lacks a parameter has -1 there") {
  std::vector<Record> records = test::sample_records();
  CandidateRecord other = test::candidate(7, "fa_mma", 64, 11);
  other.config = {{"TILE", 64}};
  records.push_back(other);
  const Json problem = problem_of(test::SampleRun(records));
  CHECK(dump(problem["candidates"]["config"].back()) == "[1,-1]");
}

}  // namespace
}  // namespace fatune
