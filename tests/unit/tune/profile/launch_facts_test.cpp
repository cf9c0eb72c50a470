// launch_facts_test.cpp: Checks waves, occupancy, and the stage of the resources.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "tune/profile/counters.hpp"

using namespace fatune;
using Catch::Approx;

namespace {

LaunchFacts facts_of(std::int64_t blocks, int blocks_per_sm) {
  LaunchFacts facts;
  facts.blocks = blocks;
  facts.sm_count = 132;
  facts.max_threads_sm = 2048;
  facts.resources.blocks_per_sm = blocks_per_sm;
  facts.resources.threads = 128;
  return facts;
}

}  // namespace

TEST_CASE("a bit more than a wave takes the time of two") {
  const LaunchFacts facts = facts_of(145, 1);
  CHECK(*facts.waves() == Approx(145.0 / 132));
  CHECK(*facts.wave_use() == Approx(145.0 / 264));
}

TEST_CASE("a grid below a wave spreads over the multiprocessors first") {
  CHECK(*facts_of(256, 4).wave_use() == 1);
  CHECK(*facts_of(66, 4).wave_use() == Approx(0.5));
  CHECK(*facts_of(66, 4).occupancy() == Approx(0.25));
}

TEST_CASE("what is unknown stays empty") {
  const LaunchFacts facts = facts_of(64, 0);
  CHECK_FALSE(facts.waves());
  CHECK_FALSE(facts.wave_use());
  CHECK_FALSE(facts.occupancy());
  CHECK_FALSE(to_json(facts).contains("waves"));
}

TEST_CASE("the facts are of the stage that the resources belong to") {
  LaunchPlan plan;
  StagePlan split, join;
  split.entry = "split";
  split.grid[0] = 512;
  split.block[0] = 128;
  split.shared_bytes = 4096;
  join.entry = "join";
  join.grid[1] = 32;
  join.block[0] = 64;
  plan.stages = {split, join};
  DeviceLimits limits;
  limits.sm_count = 132;
  Resources resources;
  resources.threads = 64;
  CHECK(launch_facts(plan, resources, limits).entry == "join");
  CHECK(launch_facts(plan, resources, limits).blocks == 32);
  resources.threads = 256;  // matches neither stage
  CHECK(launch_facts(plan, resources, limits).entry == "split");
  CHECK(launch_facts(plan, resources, limits).stages == 2);
}
