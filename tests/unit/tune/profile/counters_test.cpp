// counters_test.cpp: Checks the parsing of ncu's raw page: messages, units, separators, gaps.
#include "tune/profile/counters.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"

using namespace fatune;

namespace {

const std::vector<std::string> kAsked = {
    "gpu__time_duration.sum", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "dram__bytes_read.sum"};

}  // namespace

TEST_CASE("fields are split at commas outside quotes") {
  CHECK(csv_fields(R"("a","b,c","d ""e""",,f)") ==
        std::vector<std::string>{"a", "b,c", "d \"e\"", "", "f"});
  CHECK(csv_fields("\"x\"\r") == std::vector<std::string>{"x"});
}

TEST_CASE("a raw page gives counters of every launch in our units") {
  const std::string page =
      "==PROF== Connected to process 77\n"
      "==WARNING== something\n"
      "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\","
      "\"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active\",\"dram__bytes_read."
      "sum\"\n"
      "\"\",\"\",\"ns\",\"%\",\"byte\"\n"
      "\"0\",\"fa_mma\",\"12,345\",\"61.5\",\"1,048,576\"\n"
      "\"1\",\"join\",\"2,000\",\"n/a\",\"0\"\n";
  const auto table = parse_ncu_csv(page, kAsked);
  REQUIRE(table);
  REQUIRE(table->launches.size() == 2);
  const Counters& first = table->launches[0];
  CHECK(first.kernel == "fa_mma");
  CHECK(first.time_us == 12.345);
  CHECK(first.tensor_pct == 61.5);
  CHECK(first.dram_read_bytes == 1048576);
  CHECK_FALSE(first.dram_pct);
  CHECK(table->launches[1].dram_read_bytes == 0);
  CHECK_FALSE(table->launches[1].tensor_pct);
  CHECK(table->absent == std::vector<std::string>{kAsked[1]});
}

TEST_CASE("older names of units, and scaled ones, mean the same") {
  const auto page = [](const std::string& unit, const std::string& value) {
    return "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n\"\",\"\",\"" + unit +
           "\"\n\"0\",\"k\",\"" + value + "\"\n";
  };
  for (const auto& [unit, value] : std::vector<std::pair<std::string, std::string>>{
           {"nsecond", "9800"}, {"usecond", "9.8"}, {"us", "9.80"}, {"msecond", "0.0098"}}) {
    INFO(unit);
    const auto table = parse_ncu_csv(page(unit, value), {});
    REQUIRE(table);
    CHECK(*table->launches.front().time_us > 9.79);
    CHECK(*table->launches.front().time_us < 9.81);
  }
}

TEST_CASE("a page without units is read too") {
  const auto table = parse_ncu_csv(
      "\"ID\",\"Kernel Name\",\"launch__registers_per_thread\"\n"
      "\"0\",\"k\",\"168\"\n",
      {});
  REQUIRE(table);
  CHECK(table->launches.front().registers == 168);
}

TEST_CASE("no table and no launch are told apart") {
  const auto nothing = parse_ncu_csv("==ERROR== no\n", {});
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().message == "ncu printed no table of metrics");
  const auto empty = parse_ncu_csv("\"ID\",\"Kernel Name\"\n", {});
  REQUIRE_FALSE(empty);
  CHECK(empty.error().message == "ncu profiled no launch");
}

TEST_CASE("the whole page of a kernel is read") {
  const auto text = read_file(std::string(FATUNE_TEST_DATA_DIR) + "/profile/fa_wgmma.csv");
  REQUIRE(text);
  const std::vector<std::string> asked = metric_names(Arch{90, 'a'});
  const auto table = parse_ncu_csv(*text, asked);
  REQUIRE(table);
  REQUIRE(table->launches.size() == 1);
  for (const NcuMetric& metric : all_metrics()) {
    INFO(metric.name);
    CHECK((table->launches.front().*metric.field).has_value() ==
          (std::string(metric.name) != "stall_gmma"));
  }
  CHECK(table->absent ==
        std::vector<std::string>{"smsp__warp_issue_stalled_gmma_per_warp_active.pct"});
}

TEST_CASE("some metrics are asked of one architecture only") {
  const auto hopper = metric_names(Arch{90, 'a'});
  const auto ada = metric_names(Arch{89, 0});
  CHECK(hopper.size() == all_metrics().size());
  CHECK(ada.size() == hopper.size() - 3);
}
