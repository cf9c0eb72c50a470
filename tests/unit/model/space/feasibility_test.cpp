// feasibility_test.cpp: Checks why configs cannot run: constraints, device limits, memory.
#include <catch2/catch_test_macros.hpp>

#include "model/space/rules.hpp"
#include "support/sample_kernel.hpp"

namespace fatune {
namespace {

/// The reason, which launch_plan must give too unless it is a constraint's.
std::string reason(const std::string& manifest, std::string_view arch,
                   Attention problem = kMission) {
  const KernelRef kernel = sample_kernel(manifest);
  const Candidate candidate{kernel, default_config(kernel->manifest), problem};
  const auto why = infeasible_reason(candidate, limits_of(arch));
  INFO((why ? *why : why.error().message));
  REQUIRE(why);
  const auto plan = launch_plan(candidate, limits_of(arch));
  if (plan) return *why;
  CHECK(plan.error().message.ends_with(*why));
  return *why;
}

TEST_CASE("the first reason a config cannot run is given in words") {
  CHECK(reason(std::string(kSampleManifest), "80").empty());
  CHECK(reason(sample_with("\"default\": 32", "\"default\": 64"), "80") ==
        "breaks BLOCK_M >= 2 * BLOCK_N: tiles are tall");
  CHECK(reason(sample_with("BLOCK_M * HEAD_DIM * DTYPE_BYTES", "131072 - 256"), "86") ==
        "needs 131072 bytes of shared memory a block, the device allows 101376");
  CHECK(reason(sample_with("BLOCK_M * HEAD_DIM * DTYPE_BYTES", "101376 - 256"), "86").empty());
  CHECK(reason(sample_with("\"256\"", "\"65536\""), "90a") ==
        "declares 65536 bytes of static shared memory, the compiler allows 49152");
  CHECK(reason(sample_with("[\"BLOCK_M\", \"1\"", "[\"BLOCK_M\", \"32\""), "80") ==
        "needs 2048 threads a block, the device allows 1024");
  CHECK(reason(sample_with("[\"BLOCK_M\", \"1\"", "[\"BLOCK_M\", \"0\""), "80") ==
        "has a block of 0 threads in y");
  CHECK(reason(sample_with("[\"BLOCK_M\", \"1\", \"1\"", "[\"1\", \"1\", \"65\""), "80") ==
        "needs 65 threads a block in z, the device allows 64");
  CHECK(reason(sample_with("\"BATCH * HEADS\"", "\"65536\""), "80") ==
        "needs a grid of 65536 blocks in y, the device allows 65535");
  CHECK(reason(sample_with("ceil_div(SEQ_Q, BLOCK_M)", "2147483648"), "80") ==
        "needs a grid of 2147483648 blocks in x, the device allows 2147483647");
  CHECK(reason(sample_with("ceil_div(SEQ_Q, BLOCK_M)", "floor_div(BLOCK_M, SEQ_Q)"), "80") ==
        "has a grid of 0 blocks in x");
  const auto cluster = [](const char* x, const char* y) {
    return sample_with("\"block\":", std::string("\"cluster\": [\"") + x + "\", \"" + y +
                                         "\", \"1\"], \"block\":");
  };
  CHECK(reason(cluster("2", "1"), "90a").empty());
  CHECK(reason(cluster("2", "1"), "80") == "needs clusters of 2 blocks, the device allows 1");
  CHECK(reason(cluster("4", "4"), "90a") == "needs clusters of 16 blocks, the device allows 8");
  CHECK(reason(cluster("3", "1"), "90a") == "has 8 blocks in x, which clusters of 3 do not divide");
  CHECK(reason(sample_with("[\"HEAD_DIM\", \"BLOCK_N\"", "[\"HEAD_DIM\", \"512\""), "90a") ==
        "has a tensor-map box of 512 elements in dimension 1, 1 to 256 are possible");
  CHECK(reason(sample_with("[\"HEAD_DIM\", \"BLOCK_N\"", "[\"12\", \"BLOCK_N\""), "90a") ==
        "has tensor-map rows of 24 bytes, which 16 does not divide");
  Attention wide = kMission;
  wide.head_dim = 128;
  CHECK(reason(std::string(kSampleManifest), "90a", wide) ==
        "has tensor-map rows of 256 bytes, a swizzle of 128 bytes allows no longer one");
}

TEST_CASE("a constraint that only prunes binds searches, not what is merely run") {
  const std::string text =
      sample_with("{\"require\": \"BLOCK_M >= 2", "{\"prunes\": true, \"require\": \"BLOCK_M >= 4");
  const KernelRef kernel = sample_kernel(text);
  REQUIRE(kernel->manifest.constraints.front().prunes);
  REQUIRE_FALSE(kernel->manifest.constraints.back().prunes);
  const Candidate candidate{kernel, default_config(kernel->manifest), kMission};
  const DeviceLimits limits = limits_of("90a");
  CHECK(*infeasible_reason(candidate, limits) == "breaks BLOCK_M >= 4 * BLOCK_N: tiles are tall");
  CHECK(infeasible_reason(candidate, limits, Strictness::kNecessary)->empty());
}

TEST_CASE("tensors and scratch must fit a device whose memory is known") {
  DeviceLimits limits = limits_of("80");
  limits.memory_bytes = 1 << 20;
  const auto why = infeasible_reason(sample_candidate(), limits);
  REQUIRE(why);
  CHECK(*why == "needs 40.0 MiB of device memory for tensors and scratch, the device has 1.0 MiB");
  limits.memory_bytes = 40LL << 20;
  CHECK(infeasible_reason(sample_candidate(), limits)->empty());
}

TEST_CASE("a config of another kernel is an error") {
  Candidate candidate = sample_candidate();
  candidate.config.settings[0].value.number = 96;
  CHECK(infeasible_reason(candidate, limits_of("80")).error().message ==
        "BLOCK_M=96 is not among the values of sample");
  candidate.config.settings[0].name = "OTHER";
  CHECK(infeasible_reason(candidate, limits_of("80")).error().message ==
        "OTHER is not a parameter of sample");
  candidate.config.settings.erase(candidate.config.settings.begin());
  CHECK(infeasible_reason(candidate, limits_of("80")).error().message ==
        "the config of sample has no BLOCK_M");
}

TEST_CASE("rules compiled once judge each config as rules of its own do") {
  const KernelRef kernel = sample_kernel();
  const DeviceLimits limits = limits_of("80");
  auto rules = Feasibility::make(kernel, kMission, limits);
  REQUIRE(rules);
  Feasibility moved = *std::move(rules);
  std::size_t broken = 0;
  Candidate candidate = sample_candidate();
  for (std::size_t i = 0; i < candidate.config.settings.size(); ++i) {
    for (const Value& value : kernel->manifest.parameters[i].values) {
      candidate.config.settings[i].value = value;
      const auto reason = moved.broken(candidate.config);
      REQUIRE(reason);
      CHECK(*reason == *infeasible_reason(candidate, limits));
      broken += reason->empty() ? 0 : 1;
    }
  }
  CHECK(broken > 0);
  CHECK(moved.broken(default_config(kernel->manifest))->empty());
}

}  // namespace
}  // namespace fatune
