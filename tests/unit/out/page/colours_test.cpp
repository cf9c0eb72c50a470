// colours_test.cpp - that kernels which meet on one page can be told apart.
#include "out/page/colours.hpp"

#include <set>

#include <catch2/catch_test_macros.hpp>

namespace fatune {
namespace {

TEST_CASE("no two kernels that ship for attention share a colour") {
  std::set<std::size_t> taken;
  for (const char* kernel : {"fa_wgmma", "fa_wgmma_interleaved", "fa_mma", "fa_split", "fa_rows",
                             "fa_tiled", "fa_wmma", "hybrid_qkt"}) {
    INFO(kernel);
    CHECK(taken.insert(kernel_colour(kernel)).second);
  }
  CHECK(taken.size() == kernel_colours().size());
}

TEST_CASE("a colour hangs on the name alone, and every name has one") {
  CHECK(kernel_colour("fa_wgmma") == 0);
  CHECK(kernel_colour("fa_mma") == 2);
  for (const char* kernel : {"", "my_rmsnorm", "größer"})
    CHECK(kernel_colour(kernel) < kernel_colours().size());
}

}  // namespace
}  // namespace fatune
