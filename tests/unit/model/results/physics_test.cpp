// physics_test.cpp: Checks the floors of known devices against hand computations, and times below a
// floor.
#include "model/results/physics.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "samples.hpp"

using namespace fatune;
using Catch::Approx;
using test::h200;

namespace {

const Attention kMissionShape{
    .batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .head_dim = 64};

}  // namespace

TEST_CASE("the mission shape on an H200 is bound by arithmetic") {
  const PhysicsFloor floor = physics_floor(kMissionShape, h200());
  CHECK(floor.unknown.empty());
  // 2.147 GFLOP over 132 * 1.98 GHz * 4096
  CHECK(floor.hot.time.value == Approx(2.006).epsilon(1e-3));
  CHECK(floor.cold.time.value == floor.hot.time.value);
  CHECK(floor.hot.why == "2.15 GFLOP at 1071 TFLOP/s");
}

TEST_CASE("a causal mask counts the pairs that it leaves") {
  Attention causal = kMissionShape;
  causal.mask = Mask::kCausal;
  CHECK(visible_pairs(causal) == 512 * 513 / 2);
  causal.seq_q = 1;
  CHECK(visible_pairs(causal) == 512);  // the one row sees every key
  causal.seq_q = 600;
  CHECK(visible_pairs(causal) == 512 * 513 / 2);  // the rows before see none
  causal.seq_q = 3;
  causal.seq_kv = 5;
  CHECK(visible_pairs(causal) == 3 + 4 + 5);
}

TEST_CASE("keys in front of every window need not be read") {
  Attention decode = kMissionShape;
  decode.seq_q = 1;
  const double all = physics_floor(decode, h200()).cold.time.value;
  decode.mask = {.before = 127, .after = 0};
  CHECK(physics_floor(decode, h200()).cold.time.value < 0.26 * all);
}

TEST_CASE("one query over many keys is bound by memory, or by the cache when hot") {
  Attention decode = kMissionShape;
  decode.seq_q = 1;
  const PhysicsFloor small = physics_floor(decode, h200());
  const double bytes = 2.0 * 32 * 512 * 64 * 2 + 32 * 64 * 2;
  CHECK(small.cold.time.value == Approx(bytes / (768.0 * 3201 * 2)));
  CHECK(small.hot.time.value == Approx(bytes / (132.0 * 1980 * 64)));
  CHECK(small.hot.why.find("L2") != std::string::npos);
  decode.seq_kv = 1 << 20;
  const PhysicsFloor large = physics_floor(decode, h200());
  const double more = 2.0 * 32 * (1 << 20) * 64 * 2 + 32 * 64 * 2;
  CHECK(large.hot.time.value == Approx((more - 60.0 * 1024 * 1024) / (768.0 * 3201 * 2)));
}

TEST_CASE("in a layer keys of another length come from memory, as in a cold launch") {
  Attention problem = kMissionShape;
  const PhysicsFloor same = physics_floor(problem, h200());
  CHECK(same.of(Time::kInLayer).time.value == same.hot.time.value);
  CHECK(same.of(Time::kPlain).why == same.hot.why);
  problem.seq_q = 1;
  const PhysicsFloor decode = physics_floor(problem, h200());
  CHECK(decode.of(Time::kInLayer).time.value == decode.of(Time::kCold).time.value);
  CHECK(decode.of(Time::kCold).time.value > decode.of(Time::kHot).time.value);
}

TEST_CASE("fp8 has twice the rate where the tensor cores know it") {
  Attention fp8 = kMissionShape;
  fp8.dtype = Dtype::kE4m3;
  fp8.out_dtype = Dtype::kF16;
  CHECK(physics_floor(fp8, h200()).hot.time.value == Approx(1.003).epsilon(1e-3));
  Environment ampere = h200();
  ampere.limits.arch = {80, 0};
  CHECK(physics_floor(fp8, ampere).hot.time.value == Approx(4.012).epsilon(1e-3));
}

TEST_CASE("a custom operation is held to what it declares, at the rate of the fastest type") {
  Problem own =
      CustomProblem{.operation = "rmsnorm", .sizes = {{"ROWS", 4096}}, .bytes_read = 8'000'000};
  const PhysicsFloor reads = physics_floor(own, h200());
  CHECK(reads.cold.time.value == Approx(8e6 / (768.0 * 3201 * 2)));
  CHECK(reads.hot.time.value == Approx(8e6 / (132.0 * 1980 * 64)));
  own.as_custom().flops = 1'000'000'000'000;
  // An f16 problem may have e4m3 tensors: 132 * 1.98 GHz * 8192.
  CHECK(physics_floor(own, h200()).hot.time.value == Approx(467.06).epsilon(1e-4));
  CHECK(peak_rates(own, h200()).flops == 2 * peak_rates(kMissionShape, h200()).flops);
  Environment ampere = h200();
  ampere.limits.arch = {80, 0};
  CHECK(peak_rates(own, ampere).flops == peak_rates(kMissionShape, ampere).flops);
}

TEST_CASE("an unknown fact leaves no floor, and says which") {
  Environment environment = h200();
  environment.memory_clock_mhz = 0;
  CHECK(physics_floor(kMissionShape, environment).unknown.find("memory clock") !=
        std::string::npos);
  environment = h200();
  environment.limits.arch = {65, 0};
  CHECK(physics_floor(kMissionShape, environment).unknown.find("sm_65") != std::string::npos);
  CHECK(physics_floor(kMissionShape, environment).hot.time.value == 0);
}

TEST_CASE("a time below its floor is told with both figures") {
  const Floor floor{Micros(2.0), "2.15 GFLOP at 1071 TFLOP/s"};
  CHECK(physics_finding("hot", Micros(2.5), floor).empty());
  CHECK(physics_finding("hot", Micros(1.2), floor) ==
        "1.20 us hot is less than any right kernel needs, 2.00 us (2.15 GFLOP at 1071 "
        "TFLOP/s)");
}
