// profile_test.cpp: Checks time shares and the JSON of a profile.
#include "tune/profile/profile.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"

using namespace fatune;

namespace {

Counters launch(const std::string& kernel, std::optional<double> time_us) {
  Counters counters;
  counters.kernel = kernel;
  counters.time_us = time_us;
  return counters;
}

}  // namespace

TEST_CASE("launches of one kernel are added, most time first") {
  const auto shares = breakdown({launch("gemm", 3), launch("softmax", 10), launch("gemm", 4)});
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].kernel == "softmax");
  CHECK(shares[0].share == Catch::Approx(10.0 / 17));
  CHECK(shares[1].launches == 2);
  CHECK(shares[1].time_us == 7);
}

TEST_CASE("without a time there are no shares") {
  CHECK(breakdown({launch("a", 3), launch("b", std::nullopt)}).empty());
  CHECK(breakdown({}).empty());
}

TEST_CASE("the longest launch is the one that is read") {
  const std::vector<Counters> launches = {launch("a", 3), launch("b", 9), launch("c", 1)};
  CHECK(longest(launches)->kernel == "b");
  CHECK(longest({}) == nullptr);
}

TEST_CASE("a profile that did not run still holds the facts") {
  LaunchFacts facts;
  facts.entry = "fa_mma";
  facts.blocks = 256;
  const Json json = to_json(Profile{facts, no_ncu()});
  CHECK(json["status"] == "not_run");
  CHECK(json["facts"]["blocks"] == 256);
  CHECK(json.contains("remedies"));
  CHECK_FALSE(json.contains("launches"));
  CHECK_FALSE(json.contains("reading"));
}

TEST_CASE("a profile holds counters, shares and reading") {
  NcuOutcome outcome;
  outcome.status = ProfileStatus::kProfiled;
  outcome.launches = {launch("fa_mma", 10)};
  outcome.launches.front().tensor_pct = 75;
  const Json json = to_json(Profile{LaunchFacts{}, outcome});
  CHECK(json["breakdown"][0]["share"] == 1.0);
  CHECK(json["launches"][0]["tensor_pct"] == 75.0);
  CHECK_FALSE(json["launches"][0].contains("dram_pct"));
  CHECK(json["reading"]["bound_by"] == "tensor");
}
