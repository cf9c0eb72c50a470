// parallel_test.cpp - every index once, whatever the number of pieces.
#include "core/parallel.hpp"

#include <atomic>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

TEST_CASE("every index is visited once") {
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    for (const std::size_t least :
         {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{5000}}) {
      std::vector<int> visits(count, 0);
      parallel_for(count, least, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) ++visits[i];
      });
      CHECK(visits == std::vector<int>(count, 1));
    }
  }
}

TEST_CASE("a range too short to share stays in one piece") {
  std::atomic<int> pieces = 0;
  parallel_for(100, 60, [&](std::size_t begin, std::size_t end) {
    ++pieces;
    CHECK(begin == 0);
    CHECK(end == 100);
  });
  CHECK(pieces == 1);
}
