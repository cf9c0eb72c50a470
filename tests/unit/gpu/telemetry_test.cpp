// telemetry_test.cpp - checks that missing telemetry is empty answers, not a failure.
#include "gpu/telemetry.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

TEST_CASE("telemetry that is not available answers nothing and says why") {
  const auto telemetry = gpu::Telemetry::open("ffff:ff:ff.0");
  CHECK_FALSE(telemetry.available());
  CHECK_FALSE(telemetry.problem().empty());
  const gpu::Reading reading = telemetry.read();
  CHECK_FALSE(reading.sm_clock_mhz);
  CHECK_FALSE(reading.memory_clock_mhz);
  CHECK_FALSE(reading.temperature_c);
  CHECK_FALSE(reading.power_w);
  CHECK_FALSE(reading.throttle_reasons);
  CHECK_FALSE(telemetry.max_sm_clock_mhz());
  CHECK_FALSE(telemetry.max_memory_clock_mhz());
  CHECK_FALSE(telemetry.power_limit_w());
  CHECK_FALSE(telemetry.driver_version());
  CHECK_FALSE(telemetry.mig_enabled());
  CHECK(telemetry.compute_processes().empty());
}

TEST_CASE("telemetry that was never opened is unavailable") {
  const gpu::Telemetry telemetry;
  CHECK_FALSE(telemetry.available());
  CHECK_FALSE(telemetry.read().sm_clock_mhz);
}
