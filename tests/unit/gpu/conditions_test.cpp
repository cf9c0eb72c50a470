// conditions_test.cpp - readings folded into conditions; which throttle reasons discard samples.
#include "gpu/conditions.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

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
