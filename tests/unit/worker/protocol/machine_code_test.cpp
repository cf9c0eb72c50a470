// machine_code_test.cpp: Checks that machine code which a plan cannot launch is refused by name.
#include "worker/protocol/machine_code.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/pool_fixture.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

TEST_CASE("entries, parameters and static shared memory are those of the manifest") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  const auto fault = [&](const std::string& text, const std::string& entry = "k",
                         std::vector<std::string> arguments = {"a", "b"}, bool counts = true) {
    LaunchPlan plan;
    plan.tensor_maps.push_back({"map", "a"});
    plan.stages.emplace_back().entry = entry;
    plan.stages.back().arguments = std::move(arguments);
    plan.stages.back().counts_static = counts;
    return checked(*pool.compile(test::request("x", text)), plan).problem;
  };
  const std::string body = "(const float* a, float* b) { *b = *a; }";
  CHECK(fault("extern \"C\" __global__ void k" + body).empty());
  CHECK(fault("struct Map { char bytes[128]; };"
              "extern \"C\" __global__ void k(Map m, float* b) { *b = m.bytes[3]; }",
              "k", {"map", "b"})
            .empty());
  CHECK(fault("__global__ void k" + body).empty());
  CHECK(fault("namespace n { __global__ void k" + body + "}", "n::k").empty());
  CHECK_THAT(fault("__global__ void k" + body, "q"),
             StartsWith("the machine code has no entry q, only _Z"));
  CHECK_THAT(fault("__global__ void k" + body + "__global__ void k(float*, float*) {}"),
             StartsWith("the machine code has 2 entries k: _Z"));
  CHECK_THAT(fault("template <typename T> __global__ void k(T a, T b) {}"),
             StartsWith("the machine code has no entry k; a template is named with its arguments"));
  CHECK_THAT(fault("extern \"C\" __global__ void k" + body, "q"), ContainsSubstring("only k"));
  CHECK_THAT(
      fault("extern \"C\" __global__ void k(const float* a, float* b, int n) { *b = n; }"),
      StartsWith("k has 3 parameters of bytes [8, 8, 4], but the manifest passes 2 arguments "
                 "of [8, 8]"));
  const std::string counted = "(const float* a, float* b, int n, double s) { b[n] = *a * s; }";
  CHECK(fault("__global__ void k" + counted, "k", {"a", "b", "i32 1024", "f64 0.5"}).empty());
  CHECK_THAT(fault("__global__ void k" + counted, "k", {"a", "b", "i64 1024", "f64 0.5"}),
             StartsWith("k has 4 parameters of bytes [8, 8, 4, 8], but the manifest passes 4 "
                        "arguments of [8, 8, 8, 8]"));
  const std::string shared =
      "extern \"C\" __global__ void k(const float* a, float* b) {"
      "__shared__ float s[64]; s[threadIdx.x] = *a; __syncthreads(); *b = s[3]; }";
  CHECK_THAT(fault(shared), StartsWith("k has 256 bytes of static shared memory"));
  CHECK(fault(shared, "k", {"a", "b"}, false).empty());
}

TEST_CASE("constants are those of the manifest, with the bytes of their tensors") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  const auto fault = [&](const std::string& text, const std::string& symbol, std::int64_t bytes) {
    LaunchPlan plan;
    plan.stages.emplace_back().entry = "k";
    plan.stages.back().arguments = {"out"};
    plan.constants.push_back({symbol, "w", bytes});
    return checked(*pool.compile(test::request("x", text)), plan).problem;
  };
  const std::string kernel = "__global__ void k(float* out) { *out = c_w[threadIdx.x]; }";
  CHECK(fault("__constant__ float c_w[17];" + kernel, "c_w", 68).empty());
  CHECK(
      fault("namespace n { __constant__ float c_w[17]; } using namespace n;" + kernel, "n::c_w", 68)
          .empty());
  CHECK(fault("__constant__ float c_w[17];" + kernel, "c_w", 64).empty());
  CHECK(fault("__constant__ float c_w[17];" + kernel, "c_w", 72) ==
        "the __constant__ c_w has 68 bytes, but w, which fills it, has 72");
  CHECK(fault("__constant__ float c_w[17];" + kernel, "c_v", 68) ==
        "the machine code has no __constant__ c_v, only c_w");
  CHECK(fault("__device__ float c_w[17];" + kernel, "c_w", 68) ==
        "the machine code has no __constant__ c_w");
}
