// environment_test.cpp: Checks that device, driver and compiler survive JSON.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/results/measurement.hpp"

using namespace fatune;

namespace {

Environment sample_environment() {
  Environment x;
  x.device_name = "NVIDIA H200";
  x.device_uuid = "GPU-1234";
  x.driver = "580.159.04";
  x.cuda_driver = "13.0";
  x.nvrtc = "13.0.88";
  x.fatune = "0.1.0";
  x.host = "Linux 6.1, some CPU";
  x.cpu_cores = 16;
  x.limits = DeviceLimits{.arch = {.number = 90, .suffix = 'a'},
                          .max_shared_block = 232448,
                          .max_shared_sm = 233472,
                          .max_threads_block = 512,
                          .max_threads_sm = 1536,
                          .max_registers_sm = 32768,
                          .max_blocks_sm = 16,
                          .sm_count = 132,
                          .memory_bytes = 150'000'000'000};
  x.l2_bytes = 62914560;
  x.memory_bus_bits = 6144;
  x.memory_clock_mhz = 3201;
  x.max_sm_clock_mhz = 1980;
  x.recorded = true;
  return x;
}

}  // namespace

TEST_CASE("an environment reads back as it was written") {
  const auto read =
      read_value<Environment>(*parse_json(dump(to_json(sample_environment())), "x"), "x");
  REQUIRE(read);
  CHECK(*read == sample_environment());
}

TEST_CASE("unknown fields are ignored, missing and wrong ones are named") {
  Json json = to_json(sample_environment());
  json["later"] = 1;
  CHECK(read_value<Environment>(json, "x"));
  json.erase("sm_count");
  CHECK(read_value<Environment>(json, "x").error().message == "x: field 'sm_count' is missing");
  json.erase("arch");
  json["name"] = 5;
  CHECK(read_value<Environment>(json, "x").error().message ==
        "x: field 'name' must be a string, but is number; field 'arch' is missing; field "
        "'sm_count' is missing");
  json["arch"] = "hopper";
  json["name"] = "H200";
  CHECK(read_value<Environment>(json, "x").error().message.starts_with("x: field 'arch' is wrong"));
}
