// plan_test.cpp: Tests the driver calls of a plan's launch, and the tensors that it refuses.
#include <functional>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "runtime/program.hpp"
#include "runtime/wisdom.hpp"
#include "support/fake_driver.hpp"
#include "support/temporary_folder.hpp"
#include "wisdom_folder.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;
using test::FakeDriver;
using test::problem;

namespace {

void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

/// A wisdom of one kernel, found for a problem.
struct Found {
  FakeDriver fake;
  test::TemporaryFolder folder;
  std::unique_ptr<fatune_rt> wisdom;
  const fatune_rt_plan* plan = nullptr;
  fatune_rt_tensors tensors{};
  CUstream stream = reinterpret_cast<CUstream>(0x77);

  Found(const KernelFacts& facts, const char* wanted) {
    test::write_folder(folder.path(), {facts});
    wisdom = test::open_folder(folder.path(), fake);
    const auto found = wisdom->find(test::c_problem(problem(wanted)), {});
    REQUIRE(found);
    plan = *found;
    tensors.q = at(0x1000);
    tensors.k = at(0x2000);
    tensors.v = at(0x3000);
    tensors.out = at(0x4000);
    if (problem(wanted).lse) tensors.lse = static_cast<float*>(at(0x5000));
  }
  rt::Outcome<rt::Done> launch() { return rt::launch(*plan, tensors, stream); }
  void refuses(const char* why) {
    const auto outcome = launch();
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().status == FATUNE_RT_BAD_ARGUMENT);
    CHECK_THAT(outcome.error().message, ContainsSubstring(why));
    CHECK(fake.launches.empty());
  }
};

}  // namespace

TEST_CASE("a simple kernel gets its pointers, on the stream") {
  Found found(test::facts_of(problem("4,8,512,64")), "4,8,512,64");
  REQUIRE(found.launch());
  REQUIRE(found.fake.launches.size() == 1);
  const FakeDriver::Launch& launch = found.fake.launches[0];
  CHECK(launch.entry == "attend");
  CHECK(launch.addresses == std::vector<CUdeviceptr>{0x1000, 0x2000, 0x3000, 0x4000, 0});
  CHECK(launch.config.gridDimX == 32);
  CHECK(launch.config.blockDimX == 128);
  CHECK(launch.config.sharedMemBytes == 0);
  CHECK(launch.config.hStream == found.stream);
  CHECK(launch.attributes.empty());
}

TEST_CASE("a bias is the argument that the problem says") {
  const char* const biased = "4,8,512,64 bias 4,1,1,512:bool";
  Found found(test::facts_of(problem(biased)), biased);
  found.refuses("tensors.bias is null, but the problem has it");
  found.tensors.bias = at(0x6008);
  found.refuses("tensors.bias: 0x6008 is no multiple of 16 bytes");
  found.tensors.bias = at(0x6000);
  REQUIRE(found.launch());
  CHECK(found.fake.launches[0].addresses ==
        std::vector<CUdeviceptr>{0x1000, 0x2000, 0x3000, 0x4000, 0, 0x6000});
}

TEST_CASE("lengths, slopes and sinks are aligned to an element") {
  const char* const text = "4,8,512,64 padding:400 alibi sink";
  Found found(test::facts_of(problem(text)), text);
  found.tensors.lengths = static_cast<const std::int32_t*>(at(0x7004));
  found.tensors.alibi = static_cast<const float*>(at(0x8004));
  found.refuses("tensors.sink is null, but the problem has it");
  found.tensors.sink = at(0x9001);
  found.refuses("tensors.sink: 0x9001 is no multiple of 2 bytes");
  found.tensors.sink = at(0x9002);
  REQUIRE(found.launch());
  CHECK(found.fake.launches[0].addresses ==
        std::vector<CUdeviceptr>{0x1000, 0x2000, 0x3000, 0x4000, 0, 0x7004, 0x8004, 0x9002});
}

TEST_CASE("named tensors are the kernel's arguments in any order of the problem") {
  const char* const tuned =
      "4,8,512,64 k<left[b] score score+t[h] tensor left=i32[4]:9*4 tensor t=f32[8]";
  Found found(test::facts_of(problem(tuned)),
              "4,8,512,64 k<left[b] score score+t[h] tensor t=f32[8] tensor left=i32[4]:0,3*3");
  found.refuses("tensors.named is null, but the problem has tensors");
  const void* named[] = {at(0x7004), nullptr};
  found.tensors.named = named;
  found.refuses("tensors.named[1] is null");
  named[1] = at(0x8002);
  found.refuses("tensors.named[1]: 0x8002 is no multiple of 4 bytes");
  named[1] = at(0x8004);
  REQUIRE(found.launch());
  CHECK(found.fake.launches[0].addresses ==
        std::vector<CUdeviceptr>{0x1000, 0x2000, 0x3000, 0x4000, 0, 0x8004, 0x7004});
}

TEST_CASE("a bias that the problem has not is refused") {
  Found found(test::facts_of(problem("4,8,512,64")), "4,8,512,64");
  found.tensors.bias = at(0x6000);
  found.refuses("tensors.bias is not null, but the problem has none");
}

TEST_CASE("stages, tensor maps, scratch, clusters and dependent launches are as the facts say") {
  Found found(test::elaborate_facts(problem("4,8,512,64 lse")), "4,8,512,64 lse");
  found.tensors.scratch = at(0x10000);
  found.tensors.scratch_bytes = 1024 + 512;
  REQUIRE(found.launch());
  REQUIRE(found.fake.launches.size() == 2);
  const FakeDriver::Launch& first = found.fake.launches[0];
  CHECK(first.addresses ==
        std::vector<CUdeviceptr>{0x1000, 0x2000, 0x3000, 0x10000, 0x10000 + 1024});
  CHECK(first.config.sharedMemBytes == 100000);
  REQUIRE(first.attributes.size() == 2);
  CHECK(first.attributes[0].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  CHECK(first.attributes[0].value.clusterDim.x == 2);
  CHECK(first.attributes[1].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  CHECK(first.attributes[1].value.programmaticStreamSerializationAllowed == 1);
  const FakeDriver::Launch& second = found.fake.launches[1];
  CHECK(second.entry == "combine");
  CHECK(second.addresses == std::vector<CUdeviceptr>{0x10000 + 1024, 0x10000, 0x4000, 0x5000});
  CHECK(second.config.blockDimY == 2);
  REQUIRE(second.attributes.size() == 1);
  CHECK(second.attributes[0].value.clusterDim.x == 16);
  CHECK(found.fake.count("cuMemAllocAsync") == 0);
}

TEST_CASE("a smaller kernel is launched on one part of each tensor after the other") {
  Found found(test::elaborate_facts(problem("2,8(kv 2),512,64 lse")), "6,8(kv 2),512,64 lse");
  CHECK(found.plan->fit.launches == 3);
  found.tensors.scratch = at(0x10000);
  found.tensors.scratch_bytes = 4096;
  REQUIRE(found.launch());
  REQUIRE(found.fake.launches.size() == 6);
  const CUdeviceptr query = 2 * 8 * 512 * 64 * 2;
  CHECK(found.fake.launches[4].addresses ==
        std::vector<CUdeviceptr>{0x1000 + 2 * query, 0x2000 + 2 * query / 4, 0x3000 + 2 * query / 4,
                                 0x10000, 0x10400});
  CHECK(found.fake.launches[5].addresses[3] == 0x5000 + 2 * 2 * 8 * 512 * 4);
}

TEST_CASE("parts of v and out have the sizes of another head dim") {
  Found found(test::facts_of(problem("2,8(kv 2),512,64(v 32)")), "6,8(kv 2),512,64(v 32)");
  REQUIRE(found.launch());
  REQUIRE(found.fake.launches.size() == 3);
  const CUdeviceptr query = 2 * 8 * 512 * 64 * 2;
  CHECK(found.fake.launches[1].addresses ==
        std::vector<CUdeviceptr>{0x1000 + query, 0x2000 + query / 4, 0x3000 + query / 8,
                                 0x4000 + query / 2, 0});
}

TEST_CASE("scratch that the caller does not bring is allocated and freed on the stream") {
  Found found(test::elaborate_facts(problem("4,8,512,64")), "4,8,512,64");
  SECTION("around the launches") {
    REQUIRE(found.launch());
    CHECK(found.fake.count("cuMemAllocAsync 1536") == 1);
    CHECK(found.fake.calls.back() == "cuMemFreeAsync");
  }
  SECTION("freed when a launch fails, too") {
    found.fake.failing["cuLaunchKernelEx"] = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    const auto outcome = found.launch();
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().status == FATUNE_RT_DRIVER_FAILED);
    CHECK(outcome.error().driver_code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    CHECK_THAT(outcome.error().message, ContainsSubstring("cannot launch attend"));
    CHECK(found.fake.calls.back() == "cuMemFreeAsync");
  }
  SECTION("and none is no launch") {
    found.fake.failing["cuMemAllocAsync"] = CUDA_ERROR_OUT_OF_MEMORY;
    const auto outcome = found.launch();
    REQUIRE_FALSE(outcome);
    CHECK_THAT(outcome.error().message, ContainsSubstring("1536 bytes of scratch memory") &&
                                            ContainsSubstring("CUDA_ERROR_OUT_OF_MEMORY"));
    CHECK(found.fake.launches.empty());
  }
}

TEST_CASE("tensors that no kernel could take are refused by name") {
  const std::pair<std::function<void(Found&)>, const char*> wrong[] = {
      {[](Found& f) { f.tensors.v = nullptr; }, "tensors.v is null"},
      {[](Found& f) { f.tensors.out = at(0x4008); }, "tensors.out: 0x4008 is no multiple of 16"},
      {[](Found& f) { f.tensors.lse = static_cast<float*>(at(0x5000)); },
       "tensors.lse is not null"},
      {[](Found& f) { f.fake.device = 1; },
       "the plan is for device 0, but the current context is on device 1"},
      {[](Found& f) { f.fake.device = -1; }, "no CUDA context is current"}};
  for (const auto& [change, why] : wrong) {
    Found found(test::facts_of(problem("4,8,512,64")), "4,8,512,64");
    change(found);
    found.refuses(why);
  }
}

TEST_CASE("lse and scratch that are missing, short or misaligned are refused") {
  const std::pair<std::function<void(Found&)>, const char*> wrong[] = {
      {[](Found& f) { f.tensors.lse = nullptr; }, "tensors.lse is null"},
      {[](Found& f) { f.tensors.scratch_bytes = 1535; },
       "tensors.scratch_bytes is 1535, but the plan needs 1536"},
      {[](Found& f) { f.tensors.scratch = at(0x10010); }, "tensors.scratch is no multiple of 256"}};
  for (const auto& [change, why] : wrong) {
    Found found(test::elaborate_facts(problem("4,8,512,64 lse")), "4,8,512,64 lse");
    found.tensors.scratch = at(0x10000);
    found.tensors.scratch_bytes = 1536;
    change(found);
    found.refuses(why);
  }
}
