// forecast_test.cpp: Checks resident blocks, waves and static rejects.
#include "tune/evaluate/forecast.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"

using namespace fatune;

namespace {

LaunchPlan plan_of(std::int64_t blocks, std::int64_t threads, std::int64_t shared_bytes) {
  StagePlan stage;
  stage.entry = "main_entry";
  stage.grid[0] = blocks;
  stage.block[0] = threads;
  stage.shared_bytes = shared_bytes;
  LaunchPlan plan;
  plan.stages.push_back(stage);
  return plan;
}

StageForecast stage_of(const LaunchPlan& plan, int registers = 0) {
  Compiled compiled;
  compiled.entries["main_entry"].registers = registers;
  const DeviceLimits limits = *typical_limits(Arch{90, 'a'});
  return forecast(Attention{}, plan, limits, registers > 0 ? &compiled : nullptr).stages.at(0);
}

}  // namespace

TEST_CASE("the scarcest resource decides how many blocks a multiprocessor holds") {
  CHECK(stage_of(plan_of(1, 32, 0)).resident_blocks == 32);
  CHECK(stage_of(plan_of(1, 32, 0)).bound == "blocks");
  CHECK(stage_of(plan_of(1, 256, 0)).resident_blocks == 8);
  CHECK(stage_of(plan_of(1, 256, 0)).bound == "threads");
  const StageForecast shared = stage_of(plan_of(1, 128, 100 * 1024));
  CHECK(shared.resident_blocks == 2);
  CHECK(shared.bound == "shared memory");
  CHECK(shared.occupancy == Catch::Approx(0.125));
  const StageForecast registers = stage_of(plan_of(1, 128, 1024), 168);
  CHECK(registers.resident_blocks == 3);
  CHECK(registers.bound == "registers");
  CHECK(registers.registers == 168);
  // Registers lie in four partitions: 16 warps with 101 registers fit, not 19 as in one pool.
  CHECK(stage_of(plan_of(1, 288, 65648), 101).resident_blocks == 1);
}

TEST_CASE("waves are blocks over those that the device holds at once") {
  CHECK(stage_of(plan_of(264, 256, 100 * 1024)).waves == Catch::Approx(1.0));
  CHECK(stage_of(plan_of(66, 256, 100 * 1024)).waves == Catch::Approx(0.25));
}

TEST_CASE("a forecast tells the problem's operations a byte, and leaves library stages out") {
  LaunchPlan plan = plan_of(1, 32, 0);
  plan.stages.emplace_back();
  plan.stages.back().gemm.emplace();
  Attention problem;
  problem.batch = 4;
  problem.heads = problem.kv_heads = 8;
  problem.seq_q = problem.seq_kv = 512;
  const Forecast told = forecast(problem, plan, *typical_limits(Arch{90, 'a'}));
  CHECK(told.stages.size() == 1);
  CHECK(told.flops_per_byte == Catch::Approx(256));
  CHECK(to_json(told).at("stages").at(0).at("bound") == "blocks");
}
