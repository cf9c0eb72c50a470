// entropy_test.cpp - checks that numbers nobody can foretell do not repeat, and use all bits.
#include "core/entropy.hpp"

#include <set>

#include <catch2/catch_test_macros.hpp>

TEST_CASE("numbers of the system's generator differ, in every bit") {
  std::set<std::uint64_t> seen;
  std::uint64_t ones = 0, zeros = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t bits = fatune::random_bits();
    seen.insert(bits);
    ones |= bits;
    zeros |= ~bits;
  }
  CHECK(seen.size() == 100);
  CHECK(ones == ~std::uint64_t{0});
  CHECK(zeros == ~std::uint64_t{0});
}
