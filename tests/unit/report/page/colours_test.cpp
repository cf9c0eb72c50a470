// colours_test.cpp: Tests that kernels of one page have distinct colours.
#include "report/page/colours.hpp"

#include <set>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace fatune {
namespace {

TEST_CASE("no two kernels that ship for attention share a colour, in 16 bits and in fp8") {
  const std::vector<const char*> meeting[] = {
      {"fa_wgmma", "fa_wgmma_interleaved", "fa_wgmma_stream_k", "fa_mma", "fa_split", "fa_rows",
       "fa_tiled", "fa_wmma"},
      {"fa_wgmma_fp8", "fa_wgmma_fp8_interleaved", "fa_mma_fp8", "fa_split_fp8",
       "fa_wgmma_fp8_fused"},
      {"fa_wgmma_fp8_fused", "fa_wgmma", "fa_wgmma_interleaved", "fa_mma"}};
  for (const auto& kernels : meeting) {
    std::set<std::size_t> taken;
    for (const char* kernel : kernels) {
      INFO(kernel);
      CHECK(taken.insert(kernel_colour(kernel)).second);
    }
  }
}

TEST_CASE("a colour hangs on the name alone, and every name has one") {
  CHECK(kernel_colour("fa_wgmma") == 0);
  CHECK(kernel_colour("fa_mma") == 2);
  for (const char* kernel : {"", "my_rmsnorm", "größer"})
    CHECK(kernel_colour(kernel) < kernel_colours().size());
}

}  // namespace
}  // namespace fatune
