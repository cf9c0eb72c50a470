// wisdom_test.cpp - checks when the driver is asked for what: plans found once, kernels loaded
// once.
#include "runtime/wisdom.hpp"

#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/fake_driver.hpp"
#include "support/temporary_folder.hpp"
#include "wisdom_folder.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;
using test::FakeDriver;
using test::problem;

namespace {

struct Opened {
  FakeDriver fake;
  test::TemporaryFolder folder;
  std::unique_ptr<fatune_rt> wisdom;

  explicit Opened(const std::vector<KernelFacts>& kernels) {
    test::write_folder(folder.path(), kernels);
    wisdom = test::open_folder(folder.path(), fake);
  }
  rt::Outcome<const fatune_rt_plan*> find(const char* text) {
    return wisdom->find(test::c_problem(problem(text)), {});
  }
};

}  // namespace

TEST_CASE("opening asks nothing of the driver; the first plan starts it and loads one kernel") {
  Opened opened({test::facts_of(problem("4,8,512,64")), test::facts_of(problem("1,8,512,64"))});
  CHECK(opened.fake.calls.empty());
  const auto first = opened.find("4,8,512,64");
  REQUIRE(first);
  CHECK(opened.fake.count("cuInit") == 1);
  CHECK(opened.fake.count("cuLibraryLoadData machine code of fa_test for 4,8,512,64") == 1);
  CHECK(opened.fake.count("cuLibraryLoadData") == 1);
  const std::size_t calls = opened.fake.calls.size();
  const auto again = opened.find("4,8,512,64");
  REQUIRE(again);
  CHECK(*again == *first);
  CHECK(opened.fake.calls.size() == calls);
}

TEST_CASE("a kernel that serves two problems is loaded once; on another device once more") {
  Opened opened({test::facts_of(problem("4,8,512,64"))});
  const auto exact = opened.find("4,8,512,64");
  const auto regrouped = opened.find("32,1,512,64");
  REQUIRE(exact);
  REQUIRE(regrouped);
  CHECK((*exact)->program == (*regrouped)->program);
  CHECK(opened.fake.count("cuLibraryLoadData") == 1);
  opened.fake.device = 1;
  const auto elsewhere = opened.find("4,8,512,64");
  REQUIRE(elsewhere);
  CHECK((*elsewhere)->program != (*exact)->program);
  CHECK(opened.fake.count("cuLibraryLoadData") == 2);
  CHECK(opened.fake.count("cuKernelSetAttribute attend 8=0 on 1") == 1);
  opened.wisdom.reset();
  CHECK(opened.fake.count("cuLibraryUnload") == 2);
}

TEST_CASE("functions are prepared as the facts say, even while a stream is captured") {
  Opened opened({test::elaborate_facts(problem("4,8,512,64"))});
  REQUIRE(opened.find("4,8,512,64"));
  const FakeDriver& fake = opened.fake;
  CHECK(fake.count("cuKernelSetAttribute attend 8=100000 on 0") == 1);  // dynamic shared memory
  CHECK(fake.count("cuKernelSetAttribute attend 9=100 on 0") == 1);     // carveout
  CHECK(fake.count("cuKernelSetAttribute combine 8=0 on 0") == 1);
  CHECK(fake.count("cuKernelSetAttribute combine 9") == 0);
  CHECK(fake.count("cuKernelSetAttribute combine 14=1 on 0") == 1);  // cluster of 16
  CHECK(fake.count("cuKernelSetAttribute attend 14") == 0);
  // Loading happens between a change to relaxed capture and the change back.
  CHECK(fake.count("cuThreadExchangeStreamCaptureMode 2") == 1);
  CHECK(fake.calls.back() == "cuThreadExchangeStreamCaptureMode 0");
}

TEST_CASE("what fails is not remembered") {
  Opened opened({test::facts_of(problem("4,8,512,64"))});
  SECTION("loading") {
    opened.fake.failing["cuLibraryLoadData"] = CUDA_ERROR_OUT_OF_MEMORY;
    const auto failed = opened.find("4,8,512,64");
    REQUIRE_FALSE(failed);
    CHECK(failed.error().status == FATUNE_RT_DRIVER_FAILED);
    CHECK(failed.error().driver_code == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_THAT(failed.error().message, ContainsSubstring(".cubin: CUDA_ERROR_OUT_OF_MEMORY (2)"));
  }
  SECTION("preparing, and what was loaded is given back") {
    opened.fake.failing["cuKernelSetAttribute"] = CUDA_ERROR_INVALID_VALUE;
    REQUIRE_FALSE(opened.find("4,8,512,64"));
    CHECK(opened.fake.count("cuLibraryUnload") == 1);
  }
  SECTION("the driver's start") {
    opened.fake.failing["cuInit"] = CUDA_ERROR_NO_DEVICE;
    const auto failed = opened.find("4,8,512,64");
    REQUIRE_FALSE(failed);
    CHECK(failed.error().status == FATUNE_RT_NO_DRIVER);
  }
  opened.fake.failing.clear();
  CHECK(opened.find("4,8,512,64"));
}

TEST_CASE("a driver that lacks something is told by what it lacks") {
  Opened opened({test::facts_of(problem("4,8,512,64"))});
  opened.fake.missing = {"cuLibraryLoadData", "cuLaunchKernelEx"};
  const auto failed = opened.find("4,8,512,64");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().status == FATUNE_RT_NO_DRIVER);
  CHECK_THAT(failed.error().message,
             ContainsSubstring("it lacks cuLibraryLoadData, cuLaunchKernelEx"));
}

TEST_CASE("wisdom of another generation of devices loads nothing") {
  Opened opened({test::facts_of(problem("4,8,512,64"))});
  opened.fake.major = 10;
  const auto failed = opened.find("4,8,512,64");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().status == FATUNE_RT_OTHER_DEVICE);
  CHECK_THAT(failed.error().message, ContainsSubstring("Fake GPU"));
  CHECK(opened.fake.count("cuLibraryLoadData") == 0);
}

TEST_CASE("a kernel with more arguments than the library takes is refused, not cut short") {
  KernelFacts facts = test::facts_of(problem("4,8,512,64"));
  facts.stages[0].arguments.assign(33, "q");
  Opened opened({facts});
  const auto failed = opened.find("4,8,512,64");
  REQUIRE_FALSE(failed);
  CHECK_THAT(failed.error().message, ContainsSubstring("33 arguments"));
}

TEST_CASE("options belong to the question") {
  KernelFacts facts = test::facts_of(problem("1,8,512,64"));
  facts.verified = false;
  Opened opened({facts});
  const fatune_rt_problem four = test::c_problem(problem("4,8,512,64"));
  CHECK_FALSE(opened.wisdom->find(four, {}));
  CHECK(opened.wisdom->find(four, {0, 1}));
  CHECK_FALSE(opened.wisdom->find(four, {0, 0}));
  CHECK_FALSE(opened.wisdom->find(four, {3, 1}));
  const auto negative = opened.wisdom->find(four, {-1, 1});
  REQUIRE_FALSE(negative);
  CHECK_THAT(negative.error().message, ContainsSubstring("options.max_launches is -1"));
}

TEST_CASE("many threads find and launch at once, and load each kernel once") {
  const std::vector<const char*> texts = {"4,8,512,64", "1,8,512,64", "8,8,512,64", "32,1,512,64"};
  Opened opened(
      {test::elaborate_facts(problem("4,8,512,64")), test::elaborate_facts(problem("1,8,512,64"))});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (CUdeviceptr i = 1; i <= 50; ++i) {
        const auto plan = opened.find(texts[(static_cast<std::size_t>(t) + i) % texts.size()]);
        void* at = reinterpret_cast<void*>(i % 11 * 4096 + 4096);
        const fatune_rt_tensors tensors{at, at, at, at, nullptr, at, 1536};
        FATUNE_CHECK(plan && rt::launch(**plan, tensors, nullptr), "every thread is served");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(opened.fake.count("cuLibraryLoadData") == 2);
  bool consistent = true;
  for (const FakeDriver::Launch& launch : opened.fake.launches) {
    const bool first = launch.entry == "attend";
    const CUdeviceptr tensor = launch.addresses[first ? 0 : 2];
    const CUdeviceptr scratch = launch.addresses[first ? 3 : 1];
    consistent = consistent && tensor >= scratch;  // repeated launches move on in the tensors alone
  }
  CHECK(consistent);
}
