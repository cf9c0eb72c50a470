// measurement_test.cpp: Checks that observations survive JSON and that errors name fields.
#include "model/results/measurement.hpp"

#include <limits>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "samples.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

template <typename T>
Json reread(const T& value) {
  return *parse_json(dump(to_json(value)), "x");
}

}  // namespace

TEST_CASE("observations read back as they were written") {
  CHECK(*read_value<Timing>(reread(sample_timing()), "x") == sample_timing());
  CHECK(*read_value<Timing>(reread(Timing{.median_us = 1}), "x") == Timing{.median_us = 1});
  CHECK(read_value<Timing>(reread(Timing{}), "x").error().message ==
        "x: field 'median_us' must be more than 0, but is 0");
  CHECK(*read_value<Verification>(reread(sample_verification()), "x") == sample_verification());
  CHECK(*read_value<Verification>(reread(Verification{}), "x") == Verification{});
  CHECK(*read_value<Resources>(reread(sample_resources()), "x") == sample_resources());
  CHECK(*read_value<Resources>(reread(Resources{}), "x") == Resources{});
  CHECK(*read_value<Conditions>(reread(sample_conditions()), "x") == sample_conditions());
  CHECK(*read_value<Conditions>(reread(Conditions{}), "x") == Conditions{});
}

TEST_CASE("times, gates and quartiles stand in documents as people read them") {
  CHECK(dump(to_json(sample_timing())) ==
        R"({"median_us":9.81,"ci95_us":[9.79,9.83],"iqr_us":[9.7,9.9],"min_us":9.5,)"
        R"("sem_relative":0.0021,"samples":30,"launches_per_sample":64,"killed_early":true})");
  Verification x = sample_verification();
  x.gates = {{GateId::kLaunch}, {GateId::kEdgeProblems, 7, 8}};
  x.not_run = {"physics: no clock: none", "odd"};
  const Json json = reread(x);
  CHECK(dump(json["gates"]) == R"([{"name":"launch","passed":1,"of":1},)"
                               R"({"name":"edge_problems","passed":7,"of":8}])");
  CHECK(dump(json["not_run"]) == R"([{"name":"physics","reason":"no clock: none"},)"
                                 R"({"name":"odd","reason":""}])");
  CHECK(*read_value<Verification>(json, "x") == x);
}

TEST_CASE("what was not verified has no figures") {
  const Json json = reread(Verification{.passed = true, .skipped = true});
  CHECK_FALSE(json.contains("margin"));
  CHECK(*read_value<Verification>(json, "x") == Verification{.passed = true, .skipped = true});
}

TEST_CASE("errors of a log-sum-exp are there when there is one") {
  Verification x = sample_verification();
  CHECK(to_json(x).count("lse") == 0);
  x.lse = LseErrors{0.031, 1.5e-6};
  CHECK(*read_value<Verification>(reread(x), "x") == x);
  CHECK(read_value<Verification>(*parse_json(R"({"passed":true,"margin":1,"lse":{}})", "x"), "x")
            .error()
            .message == "x: field 'lse.margin' is missing; field 'lse.max_abs_diff' is missing");
}

TEST_CASE("an infinite margin, as of an output with NaN, survives") {
  Verification x = sample_verification();
  x.margin = std::numeric_limits<double>::infinity();
  CHECK(*read_value<Verification>(reread(x), "x") == x);
}

TEST_CASE("unknown fields are ignored, missing ones are named") {
  Json json = to_json(sample_timing());
  json["of_a_later_version"] = Json{{"a", 1}};
  CHECK(*read_value<Timing>(json, "x") == sample_timing());
  json.erase("median_us");
  CHECK(read_value<Timing>(json, "line 3").error().message ==
        "line 3: field 'median_us' is missing");
  CHECK_FALSE(read_value<Verification>(Json::object(), "x"));
  CHECK_FALSE(read_value<Resources>(Json::object(), "x"));
  CHECK_FALSE(read_value<Conditions>(Json::object(), "x"));
}

TEST_CASE("numbers out of range and of the wrong type are errors") {
  Json json = to_json(sample_resources());
  json["registers"] = 1LL << 40;
  CHECK(read_value<Resources>(json, "x").error().message == "x: field 'registers' is out of range");
  Json conditions = to_json(sample_conditions());
  conditions["throttle_reasons"] = -1;
  CHECK(read_value<Conditions>(conditions, "x").error().message ==
        "x: field 'throttle_reasons' must be a whole number of at least 0");
}

TEST_CASE("throttle reasons have names") {
  CHECK(throttle_names(0).empty());
  CHECK(throttle_names(0x4) == std::vector<std::string>{"sw_power_cap"});
  CHECK(throttle_names(0xE8) ==
        std::vector<std::string>{"hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake"});
  CHECK(throttle_names(0x113) ==
        std::vector<std::string>{"gpu_idle", "app_clocks", "sync_boost", "display_clock"});
  CHECK(throttle_names(0x8000000000000000) == std::vector<std::string>{"bit 0x8000000000000000"});
}
