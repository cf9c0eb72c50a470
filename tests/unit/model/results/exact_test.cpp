// exact_test.cpp - checks that doubles survive the journal bit for bit.
#include "model/results/exact.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

using namespace fatune;

namespace {

double through_text(double value) {
  const Json written{{"x", exact(value)}};
  const Json read = *parse_json(dump(written), "x");
  return *exact_number(Fields(read, "x"), "x");
}

}  // namespace

TEST_CASE("any double comes back bit for bit") {
  std::uint64_t bits = 0x9E3779B97F4A7C15;
  for (int i = 0; i < 20'000; ++i) {
    bits = bits * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto value = std::bit_cast<double>(bits ^ (bits >> 29U));
    if (std::isnan(value)) continue;
    if (std::bit_cast<std::uint64_t>(through_text(value)) != std::bit_cast<std::uint64_t>(value)) {
      FAIL("changed: " << value);
    }
  }
  for (const double value :
       {0.0, -0.0, 1.0, 0.1, 12.8, 1e300, 5e-324, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    CHECK(std::bit_cast<std::uint64_t>(through_text(value)) == std::bit_cast<std::uint64_t>(value));
  }
  CHECK(std::isnan(through_text(std::numeric_limits<double>::quiet_NaN())));
}

TEST_CASE("doubles are written as short as they can be") {
  CHECK(dump(exact(std::vector<double>{0.1, 12.8, 3.0, 1.0 / 3})) ==
        "[0.1,12.8,3.0,0.3333333333333333]");
}

TEST_CASE("what is no number is an error") {
  const Json json = *parse_json(R"({"a":"big","l":[1,null],"s":3})", "x");
  const Fields fields(json, "x");
  CHECK(exact_number(fields, "a").error().message ==
        "x: field 'a' must be a number, \"inf\", \"-inf\" or \"nan\"");
  CHECK(exact_numbers_or_empty(fields, "l").error().message.starts_with("x: field 'l[1]' must"));
  CHECK(exact_numbers_or_empty(fields, "s").error().message ==
        "x: field 's' must be a list of numbers");
  CHECK(*exact_number(fields, "s") == 3);
  CHECK(*exact_number_or(fields, "none", 2) == 2);
  CHECK(exact_numbers_or_empty(fields, "none")->empty());
}
