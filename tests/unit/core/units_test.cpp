// units_test.cpp: Tests the arithmetic that units allow.
#include "core/units.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

TEST_CASE("quantities add, compare and scale within their unit") {
  CHECK(Micros(1) + Micros(2) == Micros(3));
  CHECK(Bytes(3) - Bytes(1) == Bytes(2));
  CHECK(Micros(3) * 2 == Micros(6));
  CHECK(Micros(1) < Micros(2));
  CHECK(Micros(3) / Micros(2) == 1.5);
}

TEST_CASE("flops over time give a rate") {
  CHECK(to_seconds(Micros(2e6)) == Seconds(2));
  CHECK((Flops(4e12) / Seconds(2)).value == 2);
}
