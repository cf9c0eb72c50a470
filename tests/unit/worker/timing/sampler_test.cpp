// sampler_test.cpp - how many launches make a replay; everything else of the sampler needs a GPU.
#include "worker/timing/sampler.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

TEST_CASE("a replay lasts about 400 microseconds") {
  const SamplingPlan plan;
  CHECK(launches_per_replay(plan, Micros(10)) == 40);
  CHECK(launches_per_replay(plan, Micros(11)) == 37);
  CHECK(launches_per_replay(plan, Micros(5000)) == 1);
  CHECK(launches_per_replay(plan, Micros(0.1)) == 256);
  CHECK(launches_per_replay(plan, Micros(0)) == 256);
}
