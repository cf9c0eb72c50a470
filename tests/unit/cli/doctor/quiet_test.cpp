// quiet_test.cpp: Checks which readings count as noise, also on an idle GPU.
#include <catch2/catch_test_macros.hpp>

#include "cli/doctor/doctor.hpp"

namespace fatune::cli {
namespace {

GpuWatch seen(int clock_mhz, std::uint64_t reasons, int celsius = 40) {
  gpu::Reading reading;
  reading.sm_clock_mhz = clock_mhz;
  reading.throttle_reasons = reasons;
  reading.temperature_c = celsius;
  GpuWatch watch;
  watch.readings = {reading};
  watch.max_sm_clock_mhz = 1980;
  return watch;
}

TEST_CASE("an idle GPU with a low clock is quiet") {
  const GpuWatch idle = seen(345, 0x1);
  CHECK(gpu_noise(idle).empty());
  CHECK(describe(idle) == "345 of 1980 MHz, 40 degrees C");
  CHECK(gpu_noise(seen(1980, 0)).empty());
  CHECK(gpu_noise(GpuWatch{}).empty());
  CHECK(describe(GpuWatch{}) == "clock unknown");
}

TEST_CASE("other processes are named") {
  GpuWatch watch = seen(345, 0x1);
  watch.processes = {{.pid = 17, .memory_bytes = std::uint64_t{1} << 30},
                     {.pid = 18, .memory_bytes = std::nullopt}};
  const auto noise = gpu_noise(watch);
  REQUIRE(noise.size() == 1);
  CHECK(noise.front().found ==
        "other processes compute on the GPU: process 17 with 1.0 GiB, process 18");
  CHECK_FALSE(noise.front().remedy.empty());
}

TEST_CASE("every reason to slow down comes with its own remedy") {
  const auto noise = gpu_noise(seen(1980, 0x4 | 0x40));
  REQUIRE(noise.size() == 2);
  CHECK(noise[0].found == "slowed down: sw_power_cap");
  CHECK(noise[1].found == "slowed down: hw_thermal");
  CHECK(noise[0].remedy != noise[1].remedy);
  CHECK(gpu_noise(seen(1980, 0x2)).front().found == "slowed down: app_clocks");
}

TEST_CASE("a low clock under load, heat and slices are noise") {
  CHECK(gpu_noise(seen(1200, 0)).front().found == "clock at 1200 of 1980 MHz while it works");
  CHECK(gpu_noise(seen(1980, 0, 85)).front().found == "85 degrees C");
  GpuWatch sliced = seen(345, 0x1);
  sliced.mig = true;
  CHECK(gpu_noise(sliced).size() == 1);
}

TEST_CASE("others that cannot be seen are felt") {
  GpuWatch watch = seen(1980, 0);
  watch.readings.front().busy_percent = 97;
  watch.memory_used_bytes = std::uint64_t{12} << 30;
  const auto noise = gpu_noise(watch);
  REQUIRE(noise.size() == 1);
  CHECK(noise.front().found ==
        "other processes, not visible from here, compute on the GPU: busy 97 % of the time, 12.0 "
        "GiB in use");
  watch.processes = {{.pid = 17, .memory_bytes = std::nullopt}};
  CHECK(gpu_noise(watch).size() == 1);
  CHECK(gpu_noise(watch).front().found == "other processes compute on the GPU: process 17");
}

TEST_CASE("a driver's own memory and an idle second are no sign of others") {
  GpuWatch watch = seen(345, 0x1);
  watch.readings.front().busy_percent = 0;
  watch.memory_used_bytes = std::uint64_t{600} << 20;
  CHECK(gpu_noise(watch).empty());
}

TEST_CASE("a display disturbs; persistence and exclusiveness are notes") {
  GpuWatch watch = seen(345, 0x1);
  watch.watchdog = true;
  watch.persistence = false;
  watch.compute_mode = gpu::ComputeMode::kExclusive;
  CHECK(gpu_noise(watch).size() == 1);
  CHECK(gpu_notes(watch).size() == 2);
  CHECK(gpu_notes(GpuWatch{}).empty());
}

TEST_CASE("a busy host is noise") {
  CHECK_FALSE(host_noise(3.9, 8));
  const auto noise = host_noise(4.1, 8);
  REQUIRE(noise);
  CHECK(noise->found == "load average 4.1 on 8 cores");
}

}  // namespace
}  // namespace fatune::cli
