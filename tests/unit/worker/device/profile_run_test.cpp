// profile_run_test.cpp: Checks that a profile's job survives its file, its outputs, and the errors
// of bad files.
#include <array>
#include <cstring>
#include <functional>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "gpu/driver.hpp"
#include "support/custom_operation.hpp"
#include "support/fake_driver.hpp"
#include "support/temporary_folder.hpp"
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

TEST_CASE("a job launches once and keeps the outputs") {
  test::FakeDriver driver;
  int launches = 0;
  driver.define("scale_main", std::function([&](float* sums) {
                  ++launches;
                  sums[1] += 1;
                }));
  gpu::use_driver(driver.symbols());
  const test::TemporaryFolder folder;
  ProfileJob job;
  job.problem = test::custom_test_problem(3, 2);
  TensorPlan tensor;
  tensor.name = "sums";
  tensor.shape = {3};
  tensor.output = tensor.filled = true;
  tensor.fill.kind = Fill::Kind::kConstant;
  tensor.fill.offset = 5;
  job.custom = OperationPlan{{tensor}, {}};
  job.warm_ups = 0;
  job.outputs = (folder.path() / "kept" / "here").string();
  job.program.cubin = (folder.path() / "any.cubin").string();
  REQUIRE(replace_file(job.program.cubin,
                       "\x7f"
                       "ELF"));
  StagePlan stage;
  stage.entry = "scale_main";
  stage.arguments = {"sums"};
  job.program.plan.stages = {stage};
  const std::vector<std::string> file = {(folder.path() / "job.json").string()};
  REQUIRE(replace_file(file.front(), to_json(job).dump()));
  CHECK(profile_worker_main(file) == 0);
  gpu::use_driver({});
  CHECK(launches == 1);
  const auto kept = read_file(folder.path() / "kept" / "here" / "sums.bin");
  REQUIRE(kept);
  std::array<float, 3> sums{};
  REQUIRE(kept->size() == sizeof(sums));
  std::memcpy(sums.data(), kept->data(), sizeof(sums));
  CHECK(sums == std::array<float, 3>{5, 6, 5});
}
