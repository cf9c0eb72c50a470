// wisdom_test.cpp: Tests the lookup of plans, and that kernels are loaded once.
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

struct Served {
  FakeDriver fake;
  test::TemporaryFolder folder;
  std::unique_ptr<fatune_rt> wisdom;

  explicit Served(const std::vector<KernelFacts>& kernels) {
    test::write_folder(folder.path(), kernels);
    wisdom = test::open_folder(folder.path(), fake);
  }
  rt::Outcome<const fatune_rt_plan*> find(const char* text) {
    return wisdom->find(test::c_problem(problem(text)), {});
  }
};

}  // namespace

TEST_CASE("opening asks nothing of the driver; the first plan starts it and loads one kernel") {
  Served served({test::facts_of(problem("4,8,512,64")), test::facts_of(problem("1,8,512,64"))});
  CHECK(served.fake.calls.empty());
  const auto first = served.find("4,8,512,64");
  REQUIRE(first);
  CHECK(served.fake.count("cuInit") == 1);
  CHECK(served.fake.count("cuLibraryLoadData machine code of fa_test for 4,8,512,64") == 1);
  CHECK(served.fake.count("cuLibraryLoadData") == 1);
  const std::size_t calls = served.fake.calls.size();
  const auto again = served.find("4,8,512,64");
  REQUIRE(again);
  CHECK(*again == *first);
  CHECK(served.fake.calls.size() == calls);
}

TEST_CASE("a kernel that serves two problems is loaded once; on another device once more") {
  Served served({test::facts_of(problem("4,8,512,64"))});
  const auto exact = served.find("4,8,512,64");
  const auto regrouped = served.find("32,1,512,64");
  REQUIRE(exact);
  REQUIRE(regrouped);
  CHECK((*exact)->program == (*regrouped)->program);
  CHECK(served.fake.count("cuLibraryLoadData") == 1);
  served.fake.device = 1;
  const auto elsewhere = served.find("4,8,512,64");
  REQUIRE(elsewhere);
  CHECK((*elsewhere)->program != (*exact)->program);
  CHECK(served.fake.count("cuLibraryLoadData") == 2);
  CHECK(served.fake.count("cuKernelSetAttribute attend 8=0 on 1") == 1);
  served.wisdom.reset();
  CHECK(served.fake.count("cuLibraryUnload") == 2);
}

TEST_CASE("functions are prepared as the facts say, even while a stream is captured") {
  Served served({test::elaborate_facts(problem("4,8,512,64"))});
  REQUIRE(served.find("4,8,512,64"));
  const FakeDriver& fake = served.fake;
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

TEST_CASE("that there is no kernel is remembered") {
  Served served({test::facts_of(problem("4,8,512,64"))});
  const auto first = served.find("4,8,1024,64");
  REQUIRE_FALSE(first);
  CHECK(first.error().status == FATUNE_RT_NO_KERNEL);
  const std::size_t calls = served.fake.calls.size();
  const auto again = served.find("4,8,1024,64");
  REQUIRE_FALSE(again);
  CHECK(again.error().message == first.error().message);
  CHECK(served.fake.calls.size() == calls);
}

TEST_CASE("what fails otherwise is not remembered") {
  Served served({test::facts_of(problem("4,8,512,64"))});
  SECTION("loading") {
    served.fake.failing["cuLibraryLoadData"] = CUDA_ERROR_OUT_OF_MEMORY;
    const auto failed = served.find("4,8,512,64");
    REQUIRE_FALSE(failed);
    CHECK(failed.error().status == FATUNE_RT_DRIVER_FAILED);
    CHECK(failed.error().driver_code == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_THAT(failed.error().message, ContainsSubstring(".cubin: CUDA_ERROR_OUT_OF_MEMORY (2)"));
  }
  SECTION("preparing, and what was loaded is given back") {
    served.fake.failing["cuKernelSetAttribute"] = CUDA_ERROR_INVALID_VALUE;
    REQUIRE_FALSE(served.find("4,8,512,64"));
    CHECK(served.fake.count("cuLibraryUnload") == 1);
  }
  SECTION("the driver's start") {
    served.fake.failing["cuInit"] = CUDA_ERROR_NO_DEVICE;
    const auto failed = served.find("4,8,512,64");
    REQUIRE_FALSE(failed);
    CHECK(failed.error().status == FATUNE_RT_NO_DRIVER);
  }
  served.fake.failing.clear();
  CHECK(served.find("4,8,512,64"));
}

TEST_CASE("a driver that lacks something is told by what it lacks") {
  Served served({test::facts_of(problem("4,8,512,64"))});
  served.fake.missing = {"cuLibraryLoadData", "cuLaunchKernelEx"};
  const auto failed = served.find("4,8,512,64");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().status == FATUNE_RT_NO_DRIVER);
  CHECK_THAT(failed.error().message,
             ContainsSubstring("it lacks cuLibraryLoadData, cuLaunchKernelEx"));
}

TEST_CASE("wisdom of another generation of devices loads nothing") {
  Served served({test::facts_of(problem("4,8,512,64"))});
  served.fake.major = 10;
  const auto failed = served.find("4,8,512,64");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().status == FATUNE_RT_OTHER_DEVICE);
  CHECK_THAT(failed.error().message, ContainsSubstring("Fake GPU"));
  CHECK(served.fake.count("cuLibraryLoadData") == 0);
}

TEST_CASE("a kernel with more arguments than the library takes is refused, not cut short") {
  KernelFacts facts = test::facts_of(problem("4,8,512,64"));
  facts.stages[0].arguments.assign(33, "q");
  Served served({facts});
  const auto failed = served.find("4,8,512,64");
  REQUIRE_FALSE(failed);
  CHECK_THAT(failed.error().message, ContainsSubstring("33 arguments"));
}

TEST_CASE("a kernel whose machine code takes another number of arguments is never launched") {
  for (const std::size_t count : {0, 4, 6}) {
    CAPTURE(count);
    KernelFacts facts = test::facts_of(problem("4,8,512,64"));
    facts.stages[0].arguments.resize(count, "q");
    Served served({facts});
    const auto failed = served.find("4,8,512,64");
    REQUIRE_FALSE(failed);
    CHECK(failed.error().status == FATUNE_RT_BAD_FILE);
    CHECK_THAT(failed.error().message,
               ContainsSubstring(count < 5 ? "attend takes more than" : "attend takes fewer than"));
  }
}

TEST_CASE("texts belong to the question, by what they mean") {
  FakeDriver fake;
  const test::TemporaryFolder folder;
  const Attention tuned = problem("4,8,512,64 causal+padding:400,20 bias 4,1,1,512:f32 sink");
  test::write_folder(folder.path(), {test::facts_of(tuned)});
  const auto wisdom = test::open_folder(folder.path(), fake);
  const auto status = [&](auto change) {
    fatune_rt_problem other = test::c_problem(tuned);
    change(other);
    const auto found = wisdom->find(other, {});
    return found ? FATUNE_RT_OK : found.error().status;
  };
  using P = fatune_rt_problem;
  CHECK(status([](P&) {}) == FATUNE_RT_OK);
  CHECK(status([](P& p) { p.mask = "causal+padding"; }) == FATUNE_RT_OK);
  CHECK(status([](P& p) { p.mask = "window:511,0+padding:7"; }) == FATUNE_RT_OK);
  CHECK(status([](P& p) { p.bias = "4,1,1,512:f32@512:7:0:1"; }) == FATUNE_RT_OK);  // one head
  CHECK(status([](P& p) { p.mask = "causal+padding-left"; }) == FATUNE_RT_NO_KERNEL);
  CHECK(status([](P& p) { p.mask = "causal"; }) == FATUNE_RT_NO_KERNEL);
  CHECK(status([](P& p) { p.mask = nullptr; }) == FATUNE_RT_NO_KERNEL);
  CHECK(status([](P& p) { p.bias = nullptr; }) == FATUNE_RT_NO_KERNEL);
  CHECK(status([](P& p) { p.bias = "4,1,1,512:bool"; }) == FATUNE_RT_NO_KERNEL);
  CHECK(status([](P& p) { p.bias = "1,1,1,512:f32"; }) == FATUNE_RT_NO_KERNEL);
  CHECK(status([](P& p) { p.bias = "4,1,1,512:f32@1024:0:0:1"; }) == FATUNE_RT_NO_KERNEL);
  CHECK(status([](P& p) { p.sink = 0; }) == FATUNE_RT_NO_KERNEL);
  CHECK(status([](P& p) { p.score = "score + h"; }) == FATUNE_RT_NO_KERNEL);
  CHECK(status([](P& p) { p.bias = "4,1,1,512:f32@-9223372036854775808:0:0:1"; }) ==
        FATUNE_RT_BAD_ARGUMENT);
}

TEST_CASE("tensors of expressions belong to the question by name, type and shape") {
  FakeDriver fake;
  const test::TemporaryFolder folder;
  const Attention tuned = problem("4,8,512,64 k<left[b] tensor left=i32[4]:9,7*3");
  test::write_folder(folder.path(), {test::facts_of(tuned)});
  const auto wisdom = test::open_folder(folder.path(), fake);
  const auto status = [&](const char* mask, const char* tensors) {
    fatune_rt_problem other = test::c_problem(tuned);
    other.mask = mask;
    other.tensors = tensors;
    const auto found = wisdom->find(other, {});
    return found ? FATUNE_RT_OK : found.error().status;
  };
  CHECK(status("k < left[b]", "left=i32[4]") == FATUNE_RT_OK);
  CHECK(status("k < left[b]", " left=i32[4]:0*4 ") == FATUNE_RT_OK);
  CHECK(status("k < left[b]", "left=i32[5]") == FATUNE_RT_NO_KERNEL);
  CHECK(status("k < n[b]", "n=i32[4]") == FATUNE_RT_NO_KERNEL);
  CHECK(status("k < left[b]", nullptr) == FATUNE_RT_BAD_ARGUMENT);
  CHECK(status("k < left[b]", "left=f32[4]") == FATUNE_RT_BAD_ARGUMENT);
  CHECK(status("k < left[b]", "left=i32[3]") == FATUNE_RT_BAD_ARGUMENT);
  CHECK(status("k < left[b]", "left=i32[4] more=i32[4]") == FATUNE_RT_BAD_ARGUMENT);
  CHECK(status("k < left[b]", "left") == FATUNE_RT_BAD_ARGUMENT);
}

TEST_CASE("an answer outlives the caller's texts") {
  Served served({test::facts_of(problem("1,8,512,64 causal"))});
  fatune_rt_problem wanted = test::c_problem(problem("1,8,512,64"));
  std::string text = "causal";
  wanted.mask = text.c_str();
  const auto first = served.wisdom->find(wanted, {});
  REQUIRE(first);
  text = "prefix:4";
  wanted.mask = text.c_str();
  CHECK_FALSE(served.wisdom->find(wanted, {}));
  text = "causal";
  wanted.mask = text.c_str();
  CHECK(*served.wisdom->find(wanted, {}) == *first);
}

TEST_CASE("options belong to the question") {
  KernelFacts facts = test::facts_of(problem("1,8,512,64"));
  facts.verified = false;
  Served served({facts});
  const fatune_rt_problem four = test::c_problem(problem("4,8,512,64"));
  CHECK_FALSE(served.wisdom->find(four, {}));
  CHECK(served.wisdom->find(four, {0, 1}));
  CHECK_FALSE(served.wisdom->find(four, {0, 0}));
  CHECK_FALSE(served.wisdom->find(four, {3, 1}));
  const auto negative = served.wisdom->find(four, {-1, 1});
  REQUIRE_FALSE(negative);
  CHECK_THAT(negative.error().message, ContainsSubstring("options.max_launches is -1"));
}

TEST_CASE("many threads find and launch at once, and load each kernel once") {
  const std::vector<const char*> texts = {"4,8,512,64", "1,8,512,64", "8,8,512,64", "32,1,512,64"};
  Served served(
      {test::elaborate_facts(problem("4,8,512,64")), test::elaborate_facts(problem("1,8,512,64"))});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (CUdeviceptr i = 1; i <= 50; ++i) {
        const auto plan = served.find(texts[(static_cast<std::size_t>(t) + i) % texts.size()]);
        void* at = reinterpret_cast<void*>(i % 11 * 4096 + 4096);
        fatune_rt_tensors tensors{};
        tensors.q = tensors.k = tensors.v = tensors.out = tensors.scratch = at;
        tensors.scratch_bytes = 1536;
        FATUNE_CHECK(plan && rt::launch(**plan, tensors, nullptr), "every thread is served");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(served.fake.count("cuLibraryLoadData") == 2);
  bool consistent = true;
  for (const FakeDriver::Launch& launch : served.fake.launches) {
    const bool first = launch.entry == "attend";
    const CUdeviceptr tensor = launch.addresses[first ? 0 : 2];
    const CUdeviceptr scratch = launch.addresses[first ? 3 : 1];
    consistent = consistent && tensor >= scratch;  // repeated launches move on in the tensors alone
  }
  CHECK(consistent);
}
