// page_document_test.cpp: Tests the page's JSON: records, columns, ratios, floors, privacy.
#include "report/page/page_document.hpp"

#include <array>
#include <cmath>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "model/results/statistics.hpp"
#include "page_sample.hpp"

namespace fatune {
namespace {

Json run_of(const PageRun& run) { return runs_json(std::array{run}, Depth::kFull)[0]; }
Json problem_of(const test::SampleRun& sample) { return run_of(sample.load())["problems"][0]; }

TEST_CASE("numbers are short, and close") {
  CHECK(dump(rounded(6.280444355474577)) == "6.28044");
  CHECK(dump(rounded(14661.23456)) == "14661.23");
  CHECK(dump(rounded(0.000123456789)) == "0.000123457");
  CHECK(rounded(0) == 0);
  CHECK(rounded(-12345678) == -12345678);
  CHECK(rounded(HUGE_VAL) == 0);
}

TEST_CASE("records become columns by path; what repeats is written once") {
  const std::vector<Json> records = {
      {{"a", {{"b", 1}}}, {"word", "x"}, {"same", "y"}, {"id", "1"}, {"config", {{"T", 1}}}},
      {{"a", {{"b", 2}}}, {"word", "x"}, {"same", "y"}, {"id", "2"}, {"config", {{"T", 1}}}},
      {{"word", "z"}, {"same", "y"}, {"id", "3"}, {"config", {{"T", 1}}}},
      {{"same", "y"}, {"id", "4"}, {"config", {{"T", 1}}}, {"new", true}}};
  const Json table = columns_of(records);
  CHECK(table["count"] == 4);
  const Json& columns = table["columns"];
  CHECK(dump(columns["/a/b"]) == "[1,2,null,null]");
  CHECK(dump(columns["/word"]) == R"({"values":["x","z"],"at":[0,0,1,-1]})");
  CHECK(dump(columns["/same"]) == R"({"all":"y"})");
  CHECK(dump(columns["/id"]) == R"(["1","2","3","4"])");
  CHECK(dump(columns["/config/T"]) == R"({"all":1})");
  CHECK(dump(columns["/new"]) == "[null,null,null,true]");
  CHECK(columns_of({})["columns"].empty());
}

TEST_CASE("members are left out at any depth, but not from a config") {
  Json record = {{"gpu", "x"}, {"a", {{"gpu", 1}, {"b", 2}}}, {"config", {{"gpu", 3}}}};
  leave_out(record, std::array<std::string_view, 1>{"gpu"});
  CHECK(dump(record) == R"({"a":{"b":2},"config":{"gpu":3}})");
}

TEST_CASE("candidates are the journal's records, numbered in the order tried") {
  const Json problem = problem_of(test::SampleRun());
  REQUIRE(problem["groups"].size() == 2);
  const Json& group = problem["groups"][0];
  CHECK(group["kernel"] == "fa_mma");
  CHECK(group["importance"].is_null());
  CHECK(group["candidates"]["count"] == 4);
  const Json& columns = group["candidates"]["columns"];
  CHECK(dump(columns["/config/TILE"]) == "[32,64,128,256]");
  CHECK(dump(columns["/hot/median_us"]) == "[12.0,10.0,null,null]");
  CHECK(dump(columns["/number"]) == "[1,2,3,4]");
  CHECK(dump(columns["/at_s"]) == "[1.0,2.0,3.0,4.0]");
  CHECK(dump(columns["/outcome"]) == R"({"values":["measured","wrong_result"],"at":[0,0,1,1]})");
  CHECK(columns.contains("/spent/timing_s"));
  for (const char* omitted : {"/t", "/key", "/problem/batch", "/hot/samples", "/conditions"})
    CHECK_FALSE(columns.contains(omitted));
  CHECK(dump(problem["groups"][1]["candidates"]["columns"]["/number"]) == "[5,6]");
}

TEST_CASE("kernels and finals have colours, baselines have none") {
  const Json colours = run_of(test::SampleRun().load())["colours"];
  CHECK(dump(colours) == R"({"fa_mma":2,"fa_tiled":5})");
}

TEST_CASE("a final has the members of its record and of its row in best.json") {
  std::vector<Record> records = test::sample_records();
  for (Record& record : records) {
    if (auto* final = std::get_if<FinalRecord>(&record)) final->timed_again = !final->is_baseline();
  }
  const Json problem = problem_of(test::SampleRun(records));
  CHECK(problem["has_best"] == true);
  CHECK(problem["verdict"] == "Good");
  const Json& best = problem["finals"][0];
  CHECK(best["impl"] == "fatune:fa_mma");
  CHECK(best["role"] == "finalist");
  CHECK(best["timed_again"] == true);
  CHECK(best["to_baseline"]["ratio"] == 0.8);
  CHECK(best["tflops"] == Catch::Approx(214.748).epsilon(1e-5));
  CHECK(best["hot_rounds_us"].size() == 40);
  CHECK_FALSE(best.contains("problem"));
  CHECK_FALSE(problem["finals"][1].contains("timed_again"));
  CHECK(problem["gate"]["pass"] == true);
  CHECK(problem["hardware"]["tensor_tflops"].get<double>() == Catch::Approx(1070.53).epsilon(1e-5));
  CHECK(problem["hardware"]["floor"]["plain"] == problem["hardware"]["floor"]["hot"]);
  // (12.5 - 2.006) / (12.5 - 2.006 + 10 - 2.006)
  CHECK(problem["sol"]["score"].get<double>() == Catch::Approx(0.56761).epsilon(1e-4));
  CHECK(problem["sol"]["floor_why"] == "2.15 GFLOP at 1071 TFLOP/s");
}

TEST_CASE("the time that ranks is named, and rounds of every time are there") {
  CHECK(problem_of(test::SampleRun())["time"] == "hot");
  std::vector<Record> records = test::sample_records();
  for (Record& record : records) {
    auto* final = std::get_if<FinalRecord>(&record);
    if (final == nullptr) continue;
    final->in_layer = test::timing(final->hot->median_us + 1);
    final->plain = test::timing(final->hot->median_us + 0.5);
    final->in_layer_rounds_us = std::vector<double>(kLeastSamples, 11.2);
    final->in_layer_rounds_us.front() = 11.0000004;
    final->plain_rounds_us = std::vector<double>(kLeastSamples, 10.5);
  }
  const Json problem = problem_of(test::SampleRun(records));
  CHECK(problem["time"] == "in_layer");
  CHECK(problem["search_time"] == "hot");
  const Json& final = problem["finals"][0];
  CHECK(final["in_layer"]["median_us"] == 11);
  CHECK(final["in_layer_rounds_us"].size() == kLeastSamples);
  CHECK(dump(final["in_layer_rounds_us"]).starts_with("[11.0,11.2,"));
  CHECK(dump(final["plain_rounds_us"]).starts_with("[10.5,"));
}

TEST_CASE("machine code holds each line once, and counts over all entries") {
  const test::SampleRun sample;
  CHECK_FALSE(run_of(sample.load()).contains("code"));
  PageRun run = sample.load();
  const auto code = [](const std::string& id, const std::string& sass, bool remade) {
    return PageCode{id, remade, parse_sass(sass), sass_lines(sass)};
  };
  run.code = {code("12",
                   ".text.main:\n/*0000*/ LDS.128 R4, [R9] ;\n/*0010*/ EXIT ;\n"
                   ".text.combine:\n/*0000*/ LDS.128 R4, [R9] ;\n/*0010*/ EXIT ;\n",
                   false),
              code("13", ".text.main:\n/*0000*/ EXIT ;\n", true)};
  const Json json = run_of(run)["code"];
  CHECK(dump(json["lines"]) == R"(["main:","LDS.128 R4, [R9]","EXIT","combine:"])");
  CHECK(dump(json["listings"][0]["lines"]) == "[0,1,2,3,1,2]");
  CHECK(json["listings"][0]["instructions"] == 4);
  CHECK(json["listings"][0]["counts"]["shared loads of 128 bits"] == 2);
  CHECK(json["listings"][0]["remade"] == false);
  CHECK(json["listings"][1]["remade"] == true);
}

TEST_CASE("a candidate with which the search began has the source of its config") {
  JournalHeader header = test::sample_header();
  SavedConfig known;
  known.kernel = "fa_mma";
  known.config = {{"TILE", 64}};
  known.problem = test::kMission;
  known.arch = header.environment.limits.arch;
  known.source = "/somewhere/runs/first/best.json: mission";
  header.plan.warm_starts = {known};
  const auto columns = [](const test::SampleRun& sample) {
    return problem_of(sample)["groups"][0]["candidates"]["columns"];
  };
  CHECK(dump(columns(test::SampleRun(test::sample_records(), header))["/warm_start"]) ==
        R"({"values":["best.json: mission"],"at":[-1,0,-1,-1]})");
  CHECK_FALSE(columns(test::SampleRun()).contains("/warm_start"));
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
  std::vector<Record> records = test::sample_records();
  std::get<CandidateRecord>(records.front()).measured_on = MeasuredOn{"cuda:1", "GPU-1"};
  std::get<FinalRecord>(records[6]).gpu = "GPU-1";
  PageRun run = test::SampleRun(records, header).load();
  run.fleet = FleetTimeline{9, {{"rank 0 on tower, cuda:0", {}}}};
  const std::string page = dump(run_of(run));
  for (const char* word : {"/somewhere", "6.1", "GPU-1", "journal.jsonl", "tower"})
    CHECK(page.find(word) == std::string::npos);
  for (const char* word : {"fatune sweep --out a", "cuda:1", "rank 0, cuda:0"})
    CHECK(page.find(word) != std::string::npos);
}

TEST_CASE("a custom operation has GB/s if it has no number of operations") {
  const CustomProblem own{.dtype = Dtype::kF16,
                          .operation = "rmsnorm",
                          .sizes = {{"ROWS", 4096}, {"COLUMNS", 1024}},
                          .bytes_read = 8'390'656,
                          .bytes_written = 8'388'608};
  JournalHeader header = test::sample_header();
  header.plan.problems = {{"", own}};
  FinalRecord best = test::contestant("fatune:rmsnorm", RowRole::kFinalist, 10);
  best.problem = own;
  const Json problem = problem_of(test::SampleRun({best, EndRecord{"complete", 1}}, header));
  CHECK(problem["label"] == "rmsnorm ROWS=4096,COLUMNS=1024 f16");
  CHECK(problem["flops"] == 0);
  CHECK(problem["least_bytes"] == 16'779'264);
  CHECK(problem["finals"][0]["gbytes_per_s"].get<double>() ==
        Catch::Approx(1677.9264).epsilon(1e-5));
  CHECK_FALSE(problem["finals"][0].contains("tflops"));
}

TEST_CASE("a device without known peaks gets a sentence instead of a roof") {
  JournalHeader header = test::sample_header();
  header.environment.limits.arch = {61, 0};
  const Json problem = problem_of(test::SampleRun(test::sample_records(), header));
  CHECK(problem["hardware"]["unknown"] == "the peak rate of sm_61 is not in the table");
  CHECK_FALSE(problem.contains("sol"));
}

TEST_CASE("nothing measured: no best, no gate, no finals") {
  const std::vector<Record> records = {
      test::candidate(1, "fa_mma", 32, 0, Outcome::kTimeout, "no answer in 5 s")};
  const Json problem = problem_of(test::SampleRun(records));
  CHECK(problem["has_best"] == false);
  CHECK_FALSE(problem.contains("gate"));
  CHECK_FALSE(problem.contains("verdict"));
  CHECK(problem["finals"].empty());
}

}  // namespace
}  // namespace fatune
