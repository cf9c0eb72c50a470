// visible_devices_test.cpp: Checks which device a worker sees.
#include <cstdlib>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "cli/options/settings.hpp"

using namespace fatune::cli;

TEST_CASE("blocking launches are asked for by any value but 0, and then not done") {
  for (const auto& [value, asked] :
       {std::pair{"1", true}, {"yes", true}, {"0", false}, {"", false}}) {
    ::setenv("CUDA_LAUNCH_BLOCKING", value, 1);
    CHECK(asks_for_blocking_launches() == asked);
  }
  ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  launch_asynchronously();
  CHECK_FALSE(asks_for_blocking_launches());
}

TEST_CASE("a worker sees its own device alone, of those that are visible") {
  CHECK(visible_alone("2", nullptr) == "2");
  CHECK(visible_alone("1", "3,5,GPU-8e1b") == "5");
  CHECK(visible_alone("2", "3,5,GPU-8e1b") == "GPU-8e1b");
}

TEST_CASE("a worker whose device is not visible sees none") {
  CHECK(visible_alone("3", "3,5,GPU-8e1b").empty());
  CHECK(visible_alone("1", "").empty());
  CHECK(visible_alone("one", "3,5").empty());
}
