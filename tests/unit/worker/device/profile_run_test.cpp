// profile_run_test.cpp: Checks that a profile's job survives its file, and the errors of bad files.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "worker/protocol/messages.hpp"

using namespace fatune;

namespace {

ProfileJob kernel_job() {
  ProfileJob job;
  job.device = 1;
  job.problem = Attention{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};
  job.program.cubin = "a.cubin";
  StagePlan stage;
  stage.entry = "fa_mma";
  stage.grid[0] = 256;
  job.program.plan.stages = {stage};
  job.seed = 0xffff'ffff'ffff'ffffULL;
  return job;
}

}  // namespace

TEST_CASE("the job of a template survives its file") {
  const ProfileJob job = kernel_job();
  const auto again = read_value<ProfileJob>(to_json(job), "job.json");
  REQUIRE(again);
  CHECK(again->device == 1);
  CHECK(again->problem == job.problem);
  CHECK(again->program.cubin == "a.cubin");
  CHECK(to_json(again->program.plan) == to_json(job.program.plan));
  CHECK(again->seed == job.seed);
  CHECK_FALSE(again->program.outside);
}

TEST_CASE("a job that is none says so") {
  Json json = to_json(kernel_job());
  json["schema"] = "something";
  const auto wrong = read_value<ProfileJob>(json, "job.json");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.find("job.json") != std::string::npos);
  json = to_json(kernel_job());
  json["program"].erase("cubin");
  CHECK_FALSE(read_value<ProfileJob>(json, "job.json"));
  CHECK(profile_worker_main({}) == 2);
  const std::vector<std::string> missing = {"/nowhere/job.json"};
  CHECK(profile_worker_main(missing) == 1);
}
