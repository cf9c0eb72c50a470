// doctor_gpu_test.cpp: Checks the findings on GPUs in various states.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "cli/doctor/doctor.hpp"

namespace fatune::cli {
namespace {

gpu::DeviceFacts h200() {
  gpu::DeviceFacts facts;
  facts.name = "NVIDIA H200";
  facts.major = 9;
  facts.sm_count = 132;
  facts.memory_bytes = std::int64_t{140} << 30;
  facts.cuda_driver = "13.0";
  facts.driver = "580.159.04";
  return facts;
}

gpu::Reading reading(int clock_mhz, int celsius, std::uint64_t reasons, int busy_percent) {
  gpu::Reading reading;
  reading.sm_clock_mhz = clock_mhz;
  reading.temperature_c = celsius;
  reading.throttle_reasons = reasons;
  reading.busy_percent = busy_percent;
  return reading;
}

/// A driver with one quiet GPU.
GpuWatch quiet() {
  GpuWatch watch;
  watch.readings = {reading(345, 31, 0x1, 0)};
  watch.max_sm_clock_mhz = 1980;
  watch.memory_used_bytes = std::uint64_t{600} << 20;
  watch.persistence = true;
  watch.compute_mode = gpu::ComputeMode::kShared;
  return watch;
}

GpusSeen one(const GpuWatch& watch) {
  GpusSeen seen;
  seen.gpus.push_back({h200(), "", watch});
  return seen;
}

std::string text_of(const GpuWatch& watch) { return checks_text(gpu_checks(one(watch), {}), {}); }

TEST_CASE("a quiet GPU is told in three findings") {
  CHECK(text_of(quiet()) ==
        "able to tune on a GPU\n"
        "GPU\n"
        "  ok       NVIDIA driver: 580.159.04, runs programs of CUDA 13.0 and older\n"
        "  ok       cuda:0: NVIDIA H200, sm_90, 132 multiprocessors, 140.0 GiB\n"
        "  ok       cuda:0 state: no other process, no throttling, 345 of 1980 MHz, 31\n"
        "             degrees C\n");
}

TEST_CASE("a GPU that is busy, hot, throttled and shared is noisy four times") {
  GpuWatch watch = quiet();
  watch.readings = {reading(1980, 86, 0x40, 97)};
  watch.mig = true;
  const Checks checks = gpu_checks(one(watch), {});
  CHECK(is_able(checks));
  CHECK_FALSE(is_quiet(checks));
  CHECK(std::count_if(checks.begin(), checks.end(), [](const Check& check) {
          return check.health == Health::kNoisy && !check.remedy.empty();
        }) == 4);
}

TEST_CASE("what makes nothing noisy is a note") {
  GpuWatch watch = quiet();
  watch.persistence = false;
  watch.compute_mode = gpu::ComputeMode::kExclusive;
  const std::string text = text_of(watch);
  CHECK(text.find("note     cuda:0 state: persistence mode is off") != std::string::npos);
  CHECK(text.find("note     cuda:0 state: set to one process at a time") != std::string::npos);
  CHECK(text.find("NOISY") == std::string::npos);
}

TEST_CASE("a GPU that nobody may use cannot tune") {
  GpuWatch watch = quiet();
  watch.compute_mode = gpu::ComputeMode::kProhibited;
  CHECK_FALSE(is_able(gpu_checks(one(watch), {})));
}

TEST_CASE("without NVML the state is unknown, which is no obstacle") {
  GpusSeen seen = one({});
  seen.gpus.front().telemetry_problem = "libnvidia-ml.so.1 cannot be opened";
  const Checks checks = gpu_checks(seen, {});
  CHECK(is_able(checks));
  CHECK(is_quiet(checks));
  CHECK(checks.back().found == "unknown: libnvidia-ml.so.1 cannot be opened");
}

TEST_CASE("no driver comes with the line for it, a driver without a GPU does not") {
  GpusSeen seen;
  seen.driver = environment_error("no NVIDIA driver was found");
  const HostSystem host{.distribution = "debian", .root = true};
  const Checks none = gpu_checks(seen, host);
  REQUIRE(none.size() == 1);
  CHECK(none.front().remedy.starts_with("apt-get install -y nvidia-driver"));
  seen.driver = device_error("the NVIDIA driver finds no GPU");
  CHECK(gpu_checks(seen, host).front().remedy.find("CUDA_VISIBLE_DEVICES") != std::string::npos);
}

TEST_CASE("one GPU that fails leaves the others to be told") {
  GpusSeen seen = one(quiet());
  seen.gpus.insert(seen.gpus.begin(), {device_error("lost"), "", {}});
  const Checks checks = gpu_checks(seen, {});
  CHECK_FALSE(is_able(checks));
  CHECK(checks[1].what == "cuda:0");
  CHECK(checks[1].found == "lost");
  CHECK(checks[2].what == "cuda:1");
}

}  // namespace
}  // namespace fatune::cli
