// cudnn_test.cpp: Checks library lookup, and how plans are found, run and chosen, on a fake cuDNN.
#include <algorithm>
#include <bit>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "fake_cudnn.hpp"
#include "support/fake_driver.hpp"
#include "support/problem_text.hpp"
#include "support/temporary_folder.hpp"
#include "worker/baselines/cudnn_library.hpp"
#include "worker/baselines/outside.hpp"

using namespace fatune;
using test::FakeCudnn;

namespace {

const Attention kUsual = test::problem("1,2,64,64");
const TensorAddresses kTensors{{"q", 0x1000}, {"k", 0x2000}, {"v", 0x3000}, {"out", 0x4000}};

/// Plans without workspace need no device.
Result<std::unique_ptr<Executable>> open(const FakeCudnn& cudnn, CudnnPlan plan) {
  static const gpu::Context context;
  return open_cudnn_with(cudnn.functions(),
                         {context, std::bit_cast<CUstream>(std::uintptr_t{7}), kUsual, 0}, plan);
}

void fp8_has_its_own_output() {
  const auto context = gpu::make_context(0);
  REQUIRE(context);
  FakeCudnn cudnn;
  cudnn.engines[CudnnHeuristic::kA] = {{.index = 2, .workspace_bytes = 64}};
  Attention problem{1, 4, 2, 64, 64, 128, Dtype::kE4m3};
  problem.out_dtype = Dtype::kBf16;
  const auto attention =
      open_cudnn_with(cudnn.functions(), {*context, nullptr, problem, 0}, CudnnPlan::kHeuristic);
  REQUIRE(attention);
  TensorAddresses tensors = kTensors;
  for (const char* name : {"q_descale", "k_descale", "v_descale"}) tensors[name] = 0x5000;
  REQUIRE((*attention)->bind(tensors));
  REQUIRE((*attention)->queue());

  const auto own = (*attention)->own_output();
  REQUIRE(own);
  CHECK(own->type == Dtype::kE4m3);
  CHECK(own->heads == 2);
  CHECK(own->memory->bytes() == 4 * 64 * 128);
  const auto scratch = (*attention)->scratch();
  REQUIRE(scratch.size() == 2);
  CHECK(own->memory == scratch.data());
  const auto& pack = cudnn.last_pack->attributes;
  const auto ids = pack.at(cudnn_attribute::kPackIds.value).values;
  const auto pointers = pack.at(cudnn_attribute::kPackPointers.value).values;
  const auto pointer = [&](std::int64_t id) {
    return static_cast<CUdeviceptr>(
        pointers.at(static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin())));
  };
  CHECK(pointer(cudnn_id::kOut) == scratch[0].address());
  CHECK(pointer(cudnn_id::kVDescale) == 0x5000);
  CHECK(*std::bit_cast<const float*>(pointer(cudnn_id::kPScale)) == 256);
  CHECK(static_cast<CUdeviceptr>(pack.at(cudnn_attribute::kPackWorkspace.value).values.front()) ==
        scratch[1].address());
}

}  // namespace

TEST_CASE("the heuristic plan is the first that cuDNN can finalize") {
  FakeCudnn cudnn;
  cudnn.engines[CudnnHeuristic::kA] = {{.index = 2, .knobs = {{24, 7}}, .finalize_status = 3000},
                                       {.index = 1, .knobs = {{27, 0}, {24, 3}}},
                                       {.index = 5}};
  {
    const auto attention = open(cudnn, CudnnPlan::kHeuristic);
    REQUIRE(attention);
    CHECK(cudnn.handles == 1);
    CHECK(cudnn.stream == std::bit_cast<CUstream>(std::uintptr_t{7}));
    CHECK((*attention)->detail() == "cuDNN 9.19.0, heuristic plan, engine 1 (knobs 24=3 27=0)");
    CHECK((*attention)->scratch().empty());
    REQUIRE((*attention)->bind(kTensors));
    REQUIRE((*attention)->settle([](const auto&) -> Result<double> {
      return device_error("nothing is timed");
    }));
    REQUIRE((*attention)->queue());
    CHECK(cudnn.executed == std::vector<std::int64_t>{1});

    const auto& pack = cudnn.last_pack->attributes;
    CHECK(pack.at(cudnn_attribute::kPackIds.value).values ==
          std::vector<std::int64_t>{cudnn_id::kQ, cudnn_id::kK, cudnn_id::kV, cudnn_id::kOut,
                                    cudnn_id::kScale});
    const auto pointers = pack.at(cudnn_attribute::kPackPointers.value).values;
    CHECK(std::vector(pointers.begin(), pointers.begin() + 4) ==
          std::vector<std::int64_t>{0x1000, 0x2000, 0x3000, 0x4000});
    CHECK(*std::bit_cast<const float*>(pointers[4]) == 0.125F);
    CHECK(pack.at(cudnn_attribute::kPackWorkspace.value).values == std::vector<std::int64_t>{0});

    REQUIRE((*attention)->bind({{"q", 0x5000}, {"k", 0x2000}, {"v", 0x3000}, {"out", 0x4000}}));
    REQUIRE((*attention)->queue());
    CHECK(cudnn.last_pack->attributes.at(cudnn_attribute::kPackPointers.value).values[0] == 0x5000);
  }
  CHECK(cudnn.count_alive() == 0);
  CHECK(cudnn.handles == 0);
}

TEST_CASE("fp8 goes to an output of its own, in front of the workspace") {
  test::FakeDriver driver;
  gpu::use_driver(driver.symbols());
  fp8_has_its_own_output();
  gpu::use_driver({});
}

TEST_CASE("a later heuristic is asked when the first names nothing that works") {
  FakeCudnn cudnn;
  cudnn.engines[CudnnHeuristic::kA] = {{.index = 2, .finalize_status = 3000}};
  cudnn.engines[CudnnHeuristic::kFallback] = {{.index = 9}};
  const auto attention = open(cudnn, CudnnPlan::kHeuristic);
  REQUIRE(attention);
  CHECK((*attention)->detail() == "cuDNN 9.19.0, heuristic plan, engine 9");
}

TEST_CASE("the fastest plan is the one that takes least time, each timed once") {
  FakeCudnn cudnn;
  cudnn.engines[CudnnHeuristic::kA] = {
      {.index = 1}, {.index = 2, .execute_status = 5000}, {.index = 3}};
  cudnn.engines[CudnnHeuristic::kB] = {{.index = 3}, {.index = 1, .knobs = {{24, 4}}}};
  cudnn.engines[CudnnHeuristic::kFallback] = {{.index = 1}};
  const auto attention = open(cudnn, CudnnPlan::kFastest);
  REQUIRE(attention);
  REQUIRE((*attention)->bind(kTensors));
  std::vector<double> times = {30, 10, 20};
  std::size_t timed = 0;
  REQUIRE((*attention)->settle([&](const std::function<Status()>& work) -> Result<double> {
    FATUNE_TRY_STATUS(work());
    return times.at(timed++);
  }));
  CHECK(cudnn.executed == std::vector<std::int64_t>{1, 2, 3, 1});
  CHECK((*attention)->detail() == "cuDNN 9.19.0, fastest of 3 plans, engine 3");
  REQUIRE((*attention)->queue());
  CHECK(cudnn.executed.back() == 3);
}

TEST_CASE("without a plan, every refusal is told") {
  FakeCudnn cudnn;
  cudnn.last_error = "the shape is odd";
  cudnn.engines[CudnnHeuristic::kA] = {{.index = 2, .finalize_status = 3000}};
  const auto attention = open(cudnn, CudnnPlan::kFastest);
  REQUIRE_FALSE(attention);
  CHECK(attention.error().kind == ErrorKind::kDevice);
  CHECK(attention.error().message ==
        "cuDNN 9.19.0 has no plan for 1,2,64,64 f16:\n"
        "  engine 2: cannot finalize EXECUTION_PLAN_DESCRIPTOR: CUDNN_STATUS_NOT_SUPPORTED (3000): "
        "the shape is odd\n"
        "  no engine: the shape is odd");
  CHECK(cudnn.count_alive() == 0);
  CHECK(cudnn.handles == 0);
}

TEST_CASE("plans that all fail to run, a run that fails, and a cuDNN that does not start") {
  FakeCudnn cudnn;
  cudnn.last_error = "illegal address";
  cudnn.engines[CudnnHeuristic::kA] = {{.index = 4, .execute_status = 2000}};
  const auto attention = open(cudnn, CudnnPlan::kFastest);
  REQUIRE(attention);
  REQUIRE((*attention)->bind(kTensors));
  const Status run = (*attention)->queue();
  REQUIRE_FALSE(run);
  CHECK(run.error().message ==
        "cannot run engine 4: CUDNN_STATUS_BAD_PARAM (2000): illegal address");
  const Status settled =
      (*attention)->settle([](const std::function<Status()>& work) -> Result<double> {
        FATUNE_TRY_STATUS(work());
        return 1.0;
      });
  REQUIRE_FALSE(settled);
  CHECK(settled.error().message.starts_with("none of cuDNN's plans runs:\n  engine 4: cannot run"));

  cudnn.create_status = 2000;
  const auto refused = open(cudnn, CudnnPlan::kHeuristic);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.starts_with("cannot start cuDNN: "));
}

TEST_CASE("libcudnn is looked for in folders, then in wheels, then by the loader") {
  const test::TemporaryFolder folder;
  const auto touch = [&](const std::string& place) {
    std::filesystem::create_directories(folder / place);
    REQUIRE(replace_file(folder / (place + "/libcudnn.so.9"), "no library"));
    return folder / (place + "/libcudnn.so.9");
  };
  const auto plain = touch("plain"), toolkit = touch("toolkit/lib64");
  const auto deps = touch("deps/cuda/nvidia/cudnn/lib"), wheel = touch("site/nvidia/cudnn/lib");
  CHECK(cudnn_files({folder / "plain", folder / "empty", folder / "toolkit", folder / "deps"},
                    {folder / "site", folder / "other"}) ==
        std::vector<std::filesystem::path>{plain, toolkit, deps, wheel, "libcudnn.so.9"});
}
