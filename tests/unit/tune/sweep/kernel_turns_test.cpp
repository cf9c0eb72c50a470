// kernel_turns_test.cpp: Checks that kernels get turns by their distance to the leader.
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tune/sweep/search_loop.hpp"

namespace fatune {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();

/// Returns how often each kernel is next in a number of turns.
std::vector<std::uint64_t> turns(std::vector<KernelStanding> kernels, int count) {
  for (int i = 0; i < count; ++i) {
    const std::size_t next = next_kernel(kernels);
    REQUIRE(next < kernels.size());
    ++kernels[next].asked;
  }
  std::vector<std::uint64_t> asked;
  for (const KernelStanding& kernel : kernels) asked.push_back(kernel.asked);
  return asked;
}

TEST_CASE("equals take turns") {
  CHECK(turns({{5.0}, {5.0}, {5.0}}, 30) == std::vector<std::uint64_t>{10, 10, 10});
  CHECK(turns({{kNoTime}, {kNoTime}}, 30) == std::vector<std::uint64_t>{15, 15});
}

TEST_CASE("who is a tenth behind has e times fewer turns") {
  const auto asked = turns({{11.0}, {10.0}}, 372);
  CHECK(asked[0] == 100);
  CHECK(asked[1] == 272);
}

TEST_CASE("who is far behind, or has no time, has none") {
  CHECK(turns({{20.0}, {10.0}, {kNoTime}}, 100) == std::vector<std::uint64_t>{0, 100, 0});
}

TEST_CASE("the leader is next when nobody was asked") {
  CHECK(next_kernel(std::vector<KernelStanding>{{10.1}, {10.0}, {10.2}}) == 1);
}

TEST_CASE("who catches up is asked until shares are even") {
  std::vector<KernelStanding> kernels = {{20.0}, {10.0}};
  kernels[1].asked = 10;
  kernels[0].best_us = 9.0;
  CHECK(turns(kernels, 20)[0] >= 19);
}

TEST_CASE("what the exhausted leave goes to the others") {
  CHECK(turns({{10.0, 0, true}, {50.0}, {kNoTime}}, 9) == std::vector<std::uint64_t>{0, 9, 0});
  CHECK(turns({{10.0, 0, true}, {kNoTime}}, 3) == std::vector<std::uint64_t>{0, 3});
  CHECK(next_kernel(std::vector<KernelStanding>{{1.0, 0, true}, {2.0, 0, true}}) == 2);
  CHECK(next_kernel({}) == 0);
}

}  // namespace
}  // namespace fatune
