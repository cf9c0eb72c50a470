// recording_test.cpp: Tests the recognition of result files by content, and their errors.
#include "search/datasets/recording.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "sample_files.hpp"

using namespace fatune;
using test::error_of;
using test::recording_in;
using test::recording_of;

TEST_CASE("T4 results hold what the cache holds") {
  const Recording results = recording_in("convolution_a100_t4.json");
  const Recording cache = recording_in("convolution_a100.json");
  CHECK(results.format == "t4");
  CHECK(results.name == "convolution_a100_t4");
  CHECK(results.unit == "ms");
  REQUIRE(results.lattice.size() == cache.lattice.size());
  CHECK(test::failures(results, "compile") == 2);
  CHECK(test::failures(results, "runtime") == 4);
  CHECK(test::best_of(results) == test::best_of(cache));
}

TEST_CASE("T4 results in the schema's spelling, with every invalidity") {
  const auto result = [](int a, const std::string& invalidity, const std::string& measured) {
    return R"({"configuration": {"A": )" + std::to_string(a) +
           R"(}, "times": {"compilation_time": 2, "validation": 1, "runtimes": [3, 5]}, )" +
           R"("invalidity": ")" + invalidity + R"(", "correctness": 0, "measurements": [)" +
           measured + R"(], "objectives": ["time"]})";
  };
  const std::string time = R"({"name": "time", "value": 4000, "unit": "us"})";
  const Recording recording =
      recording_of(R"({"results": [)" + result(1, "correct", time) + "," +
                   result(2, "timeout", "") + "," + result(3, "compile", "") + "," +
                   result(4, "runtime", "") + "," + result(5, "correctness", time) + "," +
                   result(6, "constraints", "") + "," + result(7, "correct", "") +
                   R"(], "schema_version": "1.0.0", "metadata": {"timeunit": "seconds"}})");
  CHECK(recording.unit == "us");
  CHECK(recording.entries[0].cost == 4000.0);
  CHECK(recording.entries[0].seconds == 11.0);  // with 3 + 5 s of runs
  CHECK(recording.entries[6].cost == 4.0);      // no measurement: the mean of the runs
  for (const char* what : {"timeout", "compile", "runtime", "correctness", "constraints"})
    CHECK(test::failures(recording, what) == 1);
  CHECK(error_of(R"({"results": [)" + result(1, "sad", "") + "]}")
            .starts_with("file.json: results[0]: field 'invalidity' is 'sad', not one of timeout"));
  CHECK(error_of(R"({"results": []})") == "file.json: holds no config");
  CHECK(error_of(R"({"results": [)" + result(1, "correct", time) + ", {}]}")
            .starts_with("file.json: results[1]: field 'configuration' is missing"));
}

TEST_CASE("a second document in a file is refused with its line, a byte-order mark is not read") {
  const std::string cache = test::cache_of(test::entry(1, "x", R"("time": 1)"));
  const std::string ktt =
      R"({"Results": [{"TotalDuration": 1, "Configuration": [{"Name": "A", "Value": 1}]}]})";
  const std::string t4 = R"({"results": [{"configuration": {"A": 1}, "invalidity": "compile"}]})";
  for (const std::string& text : {cache, ktt, t4}) {
    CHECK(test::read_text("\xEF\xBB\xBF" + text));
    CHECK(test::read_text(text + "\n \n"));
    CHECK(error_of(text + "\n" + text).find("text follows the end") != std::string::npos);
  }
  CHECK(error_of(ktt + "\n\n" + ktt).starts_with("file.json: line 3: "));
}

TEST_CASE("results of the Kernel Tuning Toolkit") {
  const Recording recording = recording_in("coulomb3d_ktt.json");
  CHECK(recording.format == "ktt");
  CHECK(recording.name == "directCoulombSum_kernel");
  CHECK(recording.device == "NVIDIA GeForce RTX 2080 Ti");
  CHECK(recording.unit == "us");
  CHECK(recording.lattice.size() == 25);
  CHECK(*test::best_of(recording) == Catch::Approx(769.696));
  CHECK(recording.entries[0].seconds);
}

TEST_CASE("statuses of the Kernel Tuning Toolkit, and kernels apart") {
  const auto result = [](const std::string& kernel, int a, const std::string& status) {
    return R"({"KernelName": ")" + kernel + R"(", "Status": ")" + status +
           R"(", "TotalDuration": 2.5, "Configuration": [{"Name": "A", "Value": )" +
           std::to_string(a) + R"(}, {"Name": "B", "Value": true}]})";
  };
  const std::string text =
      R"({"Metadata": {"TimeUnit": "Milliseconds"}, "Results": [)" + result("k", 1, "Ok") + "," +
      result("k", 2, "ComputationFailed") + "," + result("k", 3, "ValidationFailed") + "," +
      result("k", 4, "CompilationFailed") + "," + result("k", 5, "DeviceLimitsExceeded") + "," +
      result("other", 1, "Ok") + "]}";
  const auto recordings = test::read_text(text);
  REQUIRE(recordings);
  REQUIRE(recordings->size() == 2);
  const Recording& first = recordings->front();
  CHECK(first.where.ends_with("file.json: k"));
  CHECK(first.unit == "ms");
  CHECK(first.entries[0].cost == 2.5);
  for (const char* what : {"runtime", "correctness", "compile", "constraints"})
    CHECK(test::failures(first, what) == 1);
  CHECK(error_of(R"({"Results": [)" + result("k", 1, "Fine") + "]}")
            .starts_with("file.json: Results[0]: field 'Status' is 'Fine'"));
}

TEST_CASE("a file of another kind is refused by what it is") {
  CHECK(error_of("") == "file.json: is empty");
  CHECK(error_of(" \n") == "file.json: is empty");
  CHECK(error_of("time,config").starts_with("file.json: is no JSON object; what can be read are"));
  CHECK(error_of(R"({"schema": "fatune.best/1"})").starts_with("file.json: is of schema \"fatune"));
  CHECK(error_of(R"({"ConfigurationSpace": {}})").starts_with("file.json: is a T1 space, which"));
  CHECK(error_of("{}").starts_with("file.json: is JSON of another kind"));
  CHECK(error_of(R"({"results": [{"configuration)").starts_with("file.json: line 1: is cut off"));
  CHECK(error_of("\x1f\x8b\x08\x00rubbish").starts_with("file.json: broken gzip data"));
}

TEST_CASE("a cut gzip is an error that names the file") {
  const auto bytes = read_file(test::data_file("convolution_a100.json"));
  REQUIRE(bytes);
  const test::TemporaryFolder folder;
  REQUIRE(replace_file(folder / "whole.json.gz", *bytes));
  std::filesystem::copy_file(folder / "whole.json.gz", folder / "cut");
  std::filesystem::resize_file(folder / "cut", 3000);
  const auto recordings = read_recordings(folder / "cut");
  REQUIRE_FALSE(recordings);
  CHECK(recordings.error().message.ends_with("cut: broken gzip data: it ends too early"));
}

TEST_CASE("a folder without a journal and a missing file are errors that say so") {
  const test::TemporaryFolder folder;
  const auto empty = read_recordings(folder.path());
  REQUIRE_FALSE(empty);
  CHECK(empty.error().message.find("this folder has no journal.jsonl") != std::string::npos);
  const auto missing = read_recordings(folder / "nothing.json");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == ErrorKind::kFile);
}

TEST_CASE("too many values and too large a product are errors") {
  std::string values;
  for (int i = 0; i < 70'000; ++i) values += (i > 0 ? "," : "") + std::to_string(i);
  CHECK(error_of(R"({"tune_params_keys": ["A"], "tune_params": {"A": [)" + values +
                 R"(]}, "cache": {"1": {"A": 1, "time": 1}}})") ==
        "file.json: parameter A has 70000 values; at most 65535 can be searched");
}
