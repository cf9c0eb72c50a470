// fatune_rt_test.cpp: Tests the C interface: statuses, messages and refused arguments.
#include "runtime/fatune_rt.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <dlfcn.h>

#include "support/temporary_folder.hpp"
#include "wisdom_folder.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;
using test::problem;

namespace {

struct Opened {
  test::TemporaryFolder folder;
  fatune_rt* wisdom = nullptr;
  fatune_rt_error error{};

  Opened() {
    test::write_folder(folder.path(), {test::facts_of(problem("4,8,512,64")),
                                       test::facts_of(problem("1,8(kv 2),512x4096,64 bf16 causal")),
                                       test::facts_of(problem("4,8(kv 2),512,64 packed"))});
    REQUIRE(fatune_rt_open(folder.path().c_str(), &wisdom, &error) == FATUNE_RT_OK);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() { fatune_rt_close(wisdom); }
};

}  // namespace

TEST_CASE("the library tells its versions and the names of statuses") {
  CHECK(fatune_rt_abi() == FATUNE_RT_ABI);
  CHECK(std::strlen(fatune_rt_version()) > 0);
  CHECK(std::string(fatune_rt_status_name(FATUNE_RT_TAMPERED)) == "FATUNE_RT_TAMPERED");
  CHECK(std::string(fatune_rt_status_name(FATUNE_RT_OUT_OF_MEMORY)) == "FATUNE_RT_OUT_OF_MEMORY");
  CHECK(std::string(fatune_rt_status_name(static_cast<fatune_rt_status>(15))) == "unknown status");
}

TEST_CASE("kernels are listed without a driver") {
  Opened opened;
  REQUIRE(fatune_rt_count(opened.wisdom) == 3);
  fatune_rt_kernel_info info;
  REQUIRE(fatune_rt_kernel(opened.wisdom, 1, &info, nullptr) == FATUNE_RT_OK);
  CHECK(std::string(info.kernel) == "fa_test");
  CHECK(std::string(info.config) == R"({"BLOCK_M":128})");
  CHECK(std::string(info.arch) == "sm_90a");
  CHECK(info.tuned.kv_heads == 2);
  CHECK(info.tuned.seq_kv == 4096);
  CHECK(info.tuned.dtype == FATUNE_RT_BF16);
  CHECK(std::string(info.tuned.mask) == "causal");
  CHECK(info.tuned.bias == nullptr);
  CHECK(info.tuned.scale == 0.125);
  CHECK(info.measured_us == 10);
  CHECK(info.verified == 1);
  CHECK(info.tuned.q.row == 0);
  REQUIRE(fatune_rt_kernel(opened.wisdom, 2, &info, nullptr) == FATUNE_RT_OK);
  CHECK((info.tuned.k.batch == 393216 && info.tuned.k.head == 64 && info.tuned.k.row == 768));
  CHECK((info.tuned.out.batch == 262144 && info.tuned.out.head == 64 && info.tuned.out.row == 512));
  CHECK(fatune_rt_kernel(opened.wisdom, 3, &info, &opened.error) == FATUNE_RT_BAD_ARGUMENT);
  CHECK_THAT(opened.error.message, ContainsSubstring("index is 3"));
}

TEST_CASE("a failed call leaves its outputs alone and says why") {
  const test::TemporaryFolder folder;
  fatune_rt* wisdom = nullptr;
  fatune_rt_error error{};
  CHECK(fatune_rt_open(folder.path().c_str(), &wisdom, &error) == FATUNE_RT_BAD_FILE);
  CHECK(wisdom == nullptr);
  CHECK(error.status == FATUNE_RT_BAD_FILE);
  CHECK_THAT(error.message, ContainsSubstring("index.json"));
  CHECK(fatune_rt_open(folder.path().c_str(), &wisdom, nullptr) == FATUNE_RT_BAD_FILE);
}

TEST_CASE("an index nested deep is a bad file, not the end of the program") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "index.json")
      << R"({"schema":"fatune.wisdom/1","fatune":"0","sha256":"0","kernels":)"
      << std::string(100'000, '[') << std::string(100'000, ']') << "}";
  fatune_rt* wisdom = nullptr;
  fatune_rt_error error{};
  CHECK(fatune_rt_open(folder.path().c_str(), &wisdom, &error) == FATUNE_RT_BAD_FILE);
  CHECK_THAT(error.message, ContainsSubstring("is nested deeper than 128 levels"));
}

TEST_CASE("a message that is too long is cut, and ends") {
  fatune_rt* wisdom = nullptr;
  fatune_rt_error error{};
  const std::string folder(2000, 'x');
  CHECK(fatune_rt_open(folder.c_str(), &wisdom, &error) == FATUNE_RT_BAD_FILE);
  CHECK(std::strlen(error.message) == sizeof(error.message) - 1);
}

TEST_CASE("null arguments are named") {
  Opened opened;
  const fatune_rt_problem wanted = test::c_problem(problem("4,8,512,64"));
  const fatune_rt_plan* plan = nullptr;
  const fatune_rt_tensors tensors{};
  size_t index = 0;
  const auto named = [&](fatune_rt_status status, const char* name) {
    return status == FATUNE_RT_BAD_ARGUMENT &&
           std::string(opened.error.message) == std::string(name) + " is null";
  };
  fatune_rt_error* error = &opened.error;
  CHECK(named(fatune_rt_open(nullptr, &opened.wisdom, error), "folder"));
  CHECK(named(fatune_rt_open("x", nullptr, error), "wisdom"));
  CHECK(named(fatune_rt_find(nullptr, &wanted, nullptr, &plan, error), "wisdom"));
  CHECK(named(fatune_rt_find(opened.wisdom, nullptr, nullptr, &plan, error), "problem"));
  CHECK(named(fatune_rt_find(opened.wisdom, &wanted, nullptr, nullptr, error), "plan"));
  CHECK(named(fatune_rt_launch(nullptr, &tensors, nullptr, error), "plan"));
  CHECK(named(fatune_rt_run(opened.wisdom, &wanted, nullptr, nullptr, error), "tensors"));
  CHECK(named(fatune_rt_nearest(opened.wisdom, &wanted, nullptr, error), "index"));
  CHECK(named(fatune_rt_nearest(opened.wisdom, nullptr, &index, error), "problem"));
  CHECK(fatune_rt_count(nullptr) == 0);
  fatune_rt_close(nullptr);
}

TEST_CASE("problems that make no sense are refused by field") {
  Opened opened;
  size_t index = 0;
  using P = fatune_rt_problem;
  const std::pair<std::function<void(P&)>, const char*> wrong[] = {
      {[](P& p) { p.seq_q = 0; }, "problem: seq_q must be at least 1"},
      {[](P& p) { p.batch = -4; }, "problem: batch must be at least 1"},
      {[](P& p) { p.kv_heads = 3; }, "problem: kv_heads must divide heads"},
      {[](P& p) { p.dtype = 9; }, "problem: dtype is 9"},
      {[](P& p) { p.mask = "diagonal"; }, "problem: mask 'diagonal' is not one of"},
      {[](P& p) { p.mask = "window:-1,4"; }, "problem: mask window:L,R has '-1'"},
      {[](P& p) { p.mask = "padding:513"; }, "problem: mask padding has length 513"},
      {[](P& p) { p.mask = "document:512"; }, "problem: packed documents are of one sequence"},
      {[](P& p) { p.mask = "k < q + x"; }, "problem: mask 'k < q + x'"},
      {[](P& p) { p.score = "score +"; }, "problem: score 'score +': ends too early"},
      {[](P& p) { p.value_dim = -8; }, "problem: value_dim must be"},
      {[](P& p) {
         p.sink = 1;
         p.dtype = FATUNE_RT_E4M3;
       },
       "problem: the tensor sink is for f16 and bf16"},
      {[](P& p) { p.softcap = -1; }, "problem: softcap must be from 0.001 to 1000000, not -1"},
      {[](P& p) { p.scale = __builtin_nan(""); }, "problem: scale is not finite"},
      {[](P& p) { p.bias = "4,1,1,512:f64"; }, "problem: bias type 'f64'"},
      {[](P& p) { p.bias = "4,1,0,512"; }, "problem: bias '4,1,0,512' is no shape"},
      {[](P& p) { p.bias = "3,1,1,512"; }, "problem: bias 3,1,1,512 has 3 batch"},
      {[](P& p) { p.bias = "4,1,1,512:bool@512:0:0:-1"; },
       "problem: bias '512:0:0:-1' is no list of strides"},
      {[](P& p) { p.bias = "4,1,512,512:f32@512:0:512:1"; }, "has several elements in one place"},
      {[](P& p) {
         p.k = {262144, 64, 448};
       },
       "problem: k: rows overlap: a stride of 448 elements is less than the 512 it steps over"},
      {[](P& p) {
         p.out = {4 * 512 * 516, 64, 516};
       },
       "problem: out: rows are not 16-byte aligned: a stride of 516 elements is 1032 bytes"},
      {[](P& p) {
         p.q = {262144, 64, -512};
       },
       "problem: q: rows overlap: a stride of -512"},
      {[](P& p) {
         p.v = {INT64_MAX, 64, 512};
       },
       "problem: v: it would reach over 1 TiB"},
      {[](P& p) { p.batch = INT64_MAX; }, "problem: batch must be at most"}};
  for (const auto& [change, why] : wrong) {
    P wanted = test::c_problem(problem("4,8,512,64"));
    change(wanted);
    CHECK(fatune_rt_nearest(opened.wisdom, &wanted, &index, &opened.error) ==
          FATUNE_RT_BAD_ARGUMENT);
    CHECK_THAT(opened.error.message, ContainsSubstring(why));
  }
}

TEST_CASE("advice names the nearest kernel") {
  Opened opened;
  size_t index = 9;
  fatune_rt_problem wanted = test::c_problem(problem("1,8,2048,64 bf16"));
  REQUIRE(fatune_rt_nearest(opened.wisdom, &wanted, &index, nullptr) == FATUNE_RT_OK);
  CHECK(index == 1);
  wanted = test::c_problem(problem("4,8(kv 2),640,64 packed"));
  REQUIRE(fatune_rt_nearest(opened.wisdom, &wanted, &index, nullptr) == FATUNE_RT_OK);
  CHECK(index == 2);
  wanted.dtype = FATUNE_RT_E5M2;
  CHECK(fatune_rt_nearest(opened.wisdom, &wanted, &index, &opened.error) == FATUNE_RT_NO_KERNEL);
  CHECK_THAT(opened.error.message, ContainsSubstring("none of the 3 kernels is for e5m2"));
}

TEST_CASE("without a driver a search says what to do") {
  if (void* library = dlopen("libcuda.so.1", RTLD_NOW); library != nullptr) {
    dlclose(library);
    SKIP("this machine has an NVIDIA driver");
  }
  Opened opened;
  const fatune_rt_problem wanted = test::c_problem(problem("4,8,512,64"));
  const fatune_rt_plan* plan = nullptr;
  CHECK(fatune_rt_find(opened.wisdom, &wanted, nullptr, &plan, &opened.error) ==
        FATUNE_RT_NO_DRIVER);
  CHECK(plan == nullptr);
  CHECK_THAT(opened.error.message,
             ContainsSubstring("libcuda.so.1") && ContainsSubstring("--gpus all"));
}
