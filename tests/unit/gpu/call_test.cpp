// call_test.cpp - checks which return codes end the process and which only the candidate.
#include "gpu/call.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace fatune;

TEST_CASE("codes after which the context is of no use are sticky") {
  const int code = GENERATE(214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999);
  CHECK(gpu::is_sticky(static_cast<CUresult>(code)));
  CHECK_FALSE(gpu::is_resource(static_cast<CUresult>(code)));
}

TEST_CASE("codes of a launch that asks for too much leave the context unharmed") {
  const int code = GENERATE(1, 2, 701);
  CHECK(gpu::is_resource(static_cast<CUresult>(code)));
  CHECK_FALSE(gpu::is_sticky(static_cast<CUresult>(code)));
}

TEST_CASE("success and a bad image are neither") {
  const int code = GENERATE(0, 200, 218, 600);
  CHECK_FALSE(gpu::is_resource(static_cast<CUresult>(code)));
  CHECK_FALSE(gpu::is_sticky(static_cast<CUresult>(code)));
}
