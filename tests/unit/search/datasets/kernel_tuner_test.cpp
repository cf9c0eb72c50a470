// kernel_tuner_test.cpp: Tests the reader of Kernel Tuner caches on excerpts of published files.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "sample_files.hpp"

using namespace fatune;
using test::cache_of;
using test::entry;
using test::error_of;
using test::recording_in;
using test::recording_of;

TEST_CASE("a real cache keeps its failed configs") {
  const Recording recording = recording_in("convolution_a100.json");
  CHECK(recording.format == "kernel-tuner");
  CHECK(recording.name == "convolution_kernel");
  CHECK(recording.device == "NVIDIA A100-PCIE-40GB");
  CHECK(recording.problem == "4096x4096");
  CHECK(recording.unit == "ms");
  CHECK(recording.lattice.size() == 49);
  CHECK(recording.entries.size() == 49);
  CHECK(test::failures(recording, "compile") == 2);
  CHECK(test::failures(recording, "runtime") == 4);
  CHECK(*test::best_of(recording) == Catch::Approx(0.5536).epsilon(1e-4));
  CHECK(recording.remarks.empty());
  REQUIRE(recording.axes.size() == 10);
  CHECK(recording.axes[0].name == "block_size_x");
  CHECK(recording.axes[0].values.size() == 16);
  CHECK(recording.lattice.axes()[0].size == 16);
}

TEST_CASE("a compressed cache reads the same under a name that does not say so") {
  const Recording packed = recording_in("dedispersion_a100.json.gz");
  CHECK(packed.lattice.size() == 49);
  const test::TemporaryFolder folder;
  std::filesystem::copy_file(test::data_file("dedispersion_a100.json.gz"), folder / "cache");
  const auto renamed = read_recordings(folder / "cache");
  REQUIRE(renamed);
  CHECK(renamed->front().entries.front().cost == packed.entries.front().cost);
}

TEST_CASE("an unclosed cache is whole") {
  const Recording recording = recording_in("gemm_a6000_unclosed.json");
  CHECK(recording.lattice.size() == 25);
  REQUIRE(recording.remarks.size() == 1);
  CHECK(recording.remarks[0] == "unclosed file: accepted");
  const std::string one = entry(1, "x", R"("time": 3.5)");
  for (const char* end : {"", ",", ",\n", "}", "}\n", "}}", "}\n}", "}\n}\n"}) {
    CAPTURE(end);
    const Recording closed = recording_of(cache_of(one, end));
    CHECK(closed.lattice.size() == 1);
    const bool whole = std::string(end).find('}') != std::string::npos &&
                       std::string(end).find('}') != std::string(end).rfind('}');
    CHECK(closed.remarks.empty() == whole);
  }
}

TEST_CASE("a cache cut at any byte is an error, or whole up to an entry") {
  const std::string first = entry(1, "x", R"("time": 3.5, "note": "\"}")");
  const std::string text = cache_of(first + "," + entry(2, "y", R"("time": 2)"));
  const std::size_t one = text.find(first) + first.size();
  for (std::size_t length = 1; length < text.size(); ++length) {
    CAPTURE(length);
    const auto recordings = test::read_text(text.substr(0, length));
    if (length < one) CHECK_FALSE(recordings);
    if (length == one || length == one + 1) {
      REQUIRE(recordings);
      CHECK(recordings->front().lattice.size() == 1);
    }
    if (recordings) CHECK(recordings->front().remarks.size() == 1);
  }
}

TEST_CASE("the time counts where the times disagree") {
  const Recording recording = recording_in("pnpoly_2080ti.json");
  CHECK(*test::best_of(recording) == Catch::Approx(8.02378).epsilon(1e-5));
  CHECK(test::failures(recording, "runtime") == 4);
  REQUIRE(recording.remarks.size() == 1);
  CHECK(recording.remarks[0].starts_with("45 configs have times that disagree"));
}

TEST_CASE("both forms of a failure are failures") {
  const Recording recording = recording_of(
      cache_of(entry(1, "x", R"("time": "RuntimeFailedConfig", "compile_time": 250)") + "," +
               entry(2, "x", R"("time": 1e20, "__error__": "CompilationFailedConfig")") + "," +
               entry(4, "x", R"("GFLOP/s": "InvalidConfig")") + "," +
               entry(1, "y", R"("time": 2.5, "__error__": "SomethingNew")") + "," +
               entry(2, "y", R"("time": 2.5, "timestamp": "2024-01-01", "compile_time": 500)")));
  CHECK(recording.lattice.size() == 5);
  CHECK(test::failures(recording, "runtime") == 2);
  CHECK(test::failures(recording, "compile") == 1);
  CHECK(test::failures(recording, "constraints") == 1);
  CHECK(test::failures(recording, "") == 1);
  CHECK(test::best_of(recording) == 2.5);
}

TEST_CASE("values are in order and points find their entries") {
  const Recording recording = recording_of(cache_of(
      entry(4, "x", R"("time": 4, "compile_time": 1500)") + "," + entry(1, "y", R"("time": 1)")));
  REQUIRE(recording.axes.size() == 2);
  CHECK(describe(recording.axes[0].values[0]) == "1");
  CHECK(describe(recording.axes[0].values[2]) == "4");
  CHECK(recording.axes[0].ordinal);
  CHECK(describe(recording.axes[1].values[0]) == "y");  // words keep the order of the file
  CHECK_FALSE(recording.axes[1].ordinal);
  const auto index = recording.lattice.index_of({2, 1});
  REQUIRE(index);
  CHECK(recording.entries[*index].cost == 4.0);
  CHECK(recording.entries[*index].seconds == 1.5);
  CHECK_FALSE(recording.entries[*recording.lattice.index_of({0, 0})].seconds);
}

TEST_CASE("parameters may be in the key alone, booleans and fractions too") {
  const Recording recording = recording_of(R"({"tune_params_keys": ["F", "B", "W"],
"tune_params": {"F": [1.0, 0.5], "B": [true, false], "W": ["a", "b"]},
"cache": {"0.5,True,a": {"time": 33.1}, "1.0,False,b": {"time": 30}}})");
  CHECK(recording.lattice.size() == 2);
  CHECK(recording.name.empty());
  REQUIRE(recording.axes.size() == 3);
  CHECK(describe(recording.axes[0].values[0]) == "0.5");
  CHECK(describe(recording.axes[0].values[1]) == "1");
  CHECK(recording.axes[0].ordinal);
  CHECK_FALSE(recording.axes[1].ordinal);
  CHECK(recording.entries[*recording.lattice.index_of({0, 1, 0})].cost == 33.1);
  CHECK(recording.remarks[0] == "2 configs have their parameters only in the key");
}

TEST_CASE("the cache may come before what describes it") {
  const Recording recording = recording_of(
      R"({"cache": {"1": {"A": 1, "GB/s": 2}}, "objective": "GB/s", "tune_params_keys": ["A"]})");
  CHECK(recording.objective == "GB/s");
  CHECK(recording.entries[0].cost == 0.5);
  CHECK(recording.remarks.size() == 1);  // more is better
}

TEST_CASE("without declared values those of the configs count") {
  const Recording recording = recording_of(
      R"({"tune_params_keys": ["A", "B"], "cache": {"16,True": {"time": 2}, "8,1": {"time": 1}}})");
  CHECK(describe(recording.axes[0].values[0]) == "8");
  CHECK(recording.axes[1].values.size() == 1);  // to Python, True is 1
}

TEST_CASE("an entry without its time has the mean of its times, lists of lists included") {
  const Recording recording = recording_of(cache_of(entry(1, "x", R"("times": [1, 2, 3])") + "," +
                                                    entry(2, "x", R"("times": [[0, 4], [1, 6]])") +
                                                    "," + entry(4, "x", R"("compile_time": 4)")));
  CHECK(recording.entries[0].cost == 2.0);
  CHECK(recording.entries[1].cost == 5.0);
  CHECK(recording.entries[2].failure == "unusable");
}

TEST_CASE("of a rate more is better") {
  const Recording recording = recording_of(
      cache_of(entry(1, "x", R"("GFLOP/s": 500)") + "," + entry(2, "x", R"("GFLOP/s": 2000)"), "}}",
               "GFLOP/s"));
  CHECK(recording.turned == Turned::kInverse);
  CHECK(recording.unit == "GFLOP/s");
  CHECK(*recording.entries[1].cost < *recording.entries[0].cost);
  CHECK(recorded_value(recording, *recording.entries[1].cost) == Catch::Approx(2000));
  const Recording scores = recording_in("hyperparameters_ga.json");
  CHECK(scores.turned == Turned::kNegative);
  CHECK(recorded_value(scores, *test::best_of(scores)) == Catch::Approx(0.517));
}

TEST_CASE("a list of objectives counts by its first") {
  const std::string entries = entry(1, "x", R"("time": 3, "energy": 1)");
  const Recording one = recording_of(cache_of(entries, "}}", "time"));
  const auto listed = [&](const std::string& names) {
    std::string text = cache_of(entries, "}}", "time");
    return recording_of(text.replace(text.find("\"time\", \"cache"), 6, names));
  };
  CHECK(listed(R"(["time"])").entries[0].cost == 3.0);
  CHECK(listed(R"(["time"])").remarks.empty());
  CHECK(listed(R"(["energy", "time"])").entries[0].cost == 1.0);
  CHECK(listed(R"(["energy", "time"])").remarks[0] ==
        "objectives energy, time: only the first counts");
}

TEST_CASE("the direction of an objective is told by its name, or asked for") {
  for (const char* rate : {"GFLOPS", "TFLOPs", "gflop/s", "TOPS", "fps", "MLUPS", "GUPS", "QPS",
                           "ops_per_watt", "images per second", "GFLOPS/W", "ns/day", "hash_rate",
                           "timesteps_per_s", "energy_efficiency", "Bandwidth (GB/s)", "MTEPS"}) {
    CAPTURE(rate);
    const auto read =
        recording_of(cache_of(entry(1, "x", '"' + std::string(rate) + "\": 5"), "}}", rate));
    CHECK(read.turned == Turned::kInverse);
  }
  for (const char* cost :
       {"time", "runtime_ms", "energy", "time_per_step", "latency per op", "error_rate", "s/iter",
        "total cycles", "performance_loss", "EDP cost"}) {
    CAPTURE(cost);
    const auto read =
        recording_of(cache_of(entry(1, "x", '"' + std::string(cost) + "\": 5"), "}}", cost));
    CHECK(read.turned == Turned::kNo);
  }
  for (const char* unknown : {"quality", "steps", "registers", "bytes/flop_x", ""})
    CHECK(error_of(cache_of(entry(1, "x", "\"time\": 1"), "}}", unknown)).find("_score'") !=
          std::string::npos);
}

TEST_CASE("1e20 as a time is a failure, whatever the objective") {
  const std::string entries = entry(1, "x", R"("time": 1e20, "GB/s": 1e-12)") + "," +
                              entry(2, "x", R"("time": 2, "GB/s": 30)");
  CHECK(test::failures(recording_of(cache_of(entries)), "runtime") == 1);
  CHECK(test::failures(recording_of(cache_of(entries, "}}", "GB/s")), "runtime") == 1);
}

TEST_CASE("numbers and truth values written as text are the declared ones") {
  const Recording recording = recording_of(
      R"({"tune_params_keys": ["A", "B"], "tune_params": {"A": [8, 64], "B": [true, false]},
          "cache": {"64,True": {"A": "64", "B": "True", "time": 1}}})");
  CHECK(recording.lattice.point(0) == Point{1, 1});
}

TEST_CASE("values that are no times become failures") {
  const Recording recording = recording_of(
      cache_of(entry(1, "x", R"("time": NaN)") + "," + entry(2, "x", R"("time": -3)") + "," +
               entry(4, "x", R"("time": 0)") + "," + entry(1, "y", R"("time": Infinity)") + "," +
               entry(2, "y", R"("time": -Infinity, "note": "NaN, she said: \"-Infinity\"")")));
  CHECK(test::failures(recording, "unusable") == 5);
  CHECK_FALSE(test::best_of(recording));  // a space in which all failed is a space
  CHECK(recording.remarks.size() == 2);
}

TEST_CASE("of a config listed twice the last counts") {
  const Recording recording =
      recording_of(cache_of(entry(1, "x", R"("time": 3)") + "," + entry(1, "x", R"("time": 2)")));
  CHECK(recording.lattice.size() == 1);
  CHECK(recording.entries[0].cost == 2.0);
  CHECK(recording.remarks[0] == "1 configs repeated: the last of each counts");
}

TEST_CASE("one config and parameters with one value make a space") {
  const Recording recording = recording_of(
      R"({"tune_params_keys": ["A"], "tune_params": {"A": [7]}, "cache": {"7": {"A": 7, "time": 1}}})");
  CHECK(recording.lattice.size() == 1);
  CHECK(recording.lattice.point(0) == Point{0});
}

TEST_CASE("what is wrong with a cache is said with its place") {
  CHECK(error_of(cache_of(entry(3, "x", R"("time": 1)"))) ==
        "file.json: key '3,x': A=3 is not one of the declared values 1, 2, 4");
  CHECK(error_of(cache_of("")) == "file.json: holds no config");
  CHECK(error_of(cache_of(R"("1,x": {"A": 1, "W": "x", "ti)", "")) ==
        "file.json: line 3: is cut off inside the value that begins here");
  CHECK(error_of(cache_of("\"1,x\": {\"time\": 1, oops}")).starts_with("file.json: line 3: not"));
  CHECK(error_of(cache_of(R"("1,x,2": {"time": 1})")) ==
        "file.json: key '1,x,2' has 3 values, but there are 2 parameters");
  CHECK(error_of(cache_of(R"("1,x": 5)")) == "file.json: key '1,x' must be an object");
  CHECK(error_of(R"({"cache": {"1": {"time": 1}}})") ==
        "file.json: names no parameters: tune_params_keys and tune_params are missing");
  CHECK(error_of(R"({"tune_params_keys": ["A"]})") == "file.json: has no cache");
  CHECK(error_of(R"({"tune_params_keys": ["A"], "device_)") ==
        "file.json: line 1: is cut off inside the value that begins here");
}
