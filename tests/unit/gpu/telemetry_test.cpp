// telemetry_test.cpp: Tests that missing telemetry is no failure, and which readings are discarded.
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
  CHECK_FALSE(telemetry.driver_version());
  CHECK_FALSE(telemetry.mig_enabled());
  CHECK(telemetry.compute_processes().empty());
}

TEST_CASE("readings widen the clock range and keep the highest heat") {
  Conditions conditions;
  fold(conditions, {1800, 2619, 40, 300.0, 90, 0x1});
  fold(conditions, {1980, 2619, 45, 250.0, 95, 0x4});
  gpu::Reading clock_alone;
  clock_alone.sm_clock_mhz = 1755;
  fold(conditions, clock_alone);
  CHECK(conditions.sm_clock_mhz_min == 1755);
  CHECK(conditions.sm_clock_mhz_max == 1980);
  CHECK(conditions.memory_clock_mhz == 2619);
  CHECK(conditions.temperature_c == 45);
  CHECK(conditions.power_w == 300.0);
  CHECK(conditions.throttle_reasons == 0x4);
}

TEST_CASE("a device that tells nothing leaves zeros") {
  Conditions conditions;
  fold(conditions, gpu::Reading{});
  CHECK(conditions.sm_clock_mhz_max == 0);
  CHECK(conditions.throttle_reasons == 0);
  CHECK_FALSE(must_discard(gpu::Reading{}));
}

TEST_CASE("the hardware's own slowdowns discard samples, the power cap does not") {
  const auto with = [](std::uint64_t bits) {
    gpu::Reading reading;
    reading.throttle_reasons = bits;
    return reading;
  };
  CHECK_FALSE(must_discard(with(0x1)));
  CHECK_FALSE(must_discard(with(0x4)));
  CHECK_FALSE(must_discard(with(0x20)));
  CHECK(must_discard(with(0x8)));
  CHECK(must_discard(with(0x40)));
  CHECK(must_discard(with(0x80 | 0x4)));
}
