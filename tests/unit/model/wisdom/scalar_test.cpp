// scalar_test.cpp: Checks that typed values have one spelling, the right bits, and a range.
#include "model/wisdom/scalar.hpp"

#include <bit>
#include <cstdint>

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

namespace {

/// The argument as stored, or the error.
std::string stored(std::string_view argument, double value) {
  const auto split = split_scalar(argument);
  REQUIRE(split);
  const auto text = scalar_of(*split->type, value);
  return text ? *text : text.error().message;
}

}  // namespace

TEST_CASE("types have the spellings of C, too") {
  CHECK(is_scalar("i32 8"));
  CHECK(is_scalar("int(ROWS)"));
  CHECK_FALSE(is_scalar("q_descale"));
  CHECK(split_scalar("unsigned long long ROWS / 2")->type->name == "u64");
  CHECK(split_scalar("unsigned long long ROWS / 2")->value == "ROWS / 2");
  CHECK(split_scalar("unsigned ROWS")->type->name == "u32");
  CHECK(split_scalar("unsigned char 1")->type->name == "u8");
  CHECK(split_scalar("short 1")->type->name == "i16");
  CHECK(split_scalar("size_t 1")->type->name == "u64");
  CHECK(split_scalar("int32_t 1")->type->name == "i32");
  CHECK(split_scalar("int(ROWS)")->value == "(ROWS)");
  CHECK_FALSE(split_scalar("int"));
  CHECK_FALSE(split_scalar("integer 1"));
  CHECK_FALSE(split_scalar("half 1"));
}

TEST_CASE("a value is stored in one spelling, with its bits and its literal in C") {
  CHECK(stored("int x", -1) == "i32 -1");
  CHECK(read_scalar("i32 -1")->bits == ~std::uint64_t{0});
  CHECK(stored("float x", 0.1) == "f32 0.1");
  CHECK(read_scalar("f32 0.1")->bits == std::bit_cast<std::uint32_t>(0.1F));
  CHECK(read_scalar("f32 0.1")->literal == "0.1f");
  CHECK(stored("float x", 3) == "f32 3.0");
  CHECK(stored("f64 x", 1e-300) == "f64 1e-300");
  CHECK(read_scalar("f64 1e-300")->bits == std::bit_cast<std::uint64_t>(1e-300));
  CHECK(read_scalar("u32 4294967295")->literal == "4294967295u");
  CHECK(read_scalar("bool 1")->type->bytes == 1);
  CHECK(read_scalar("i64 9007199254740992")->literal == "9007199254740992LL");
}

TEST_CASE("a value that its type cannot hold is refused") {
  CHECK(stored("i32 x", 2147483648.0) == "is 2147483648, but i32 holds -2147483648 to 2147483647");
  CHECK(stored("u64 x", -1) == "is -1, but u64 holds 0 to 9007199254740992");
  CHECK(stored("f32 x", 1e39) == "is 1e+39, but f32 holds -3.40282e+38 to 3.40282e+38");
  CHECK(stored("bool x", 2) == "is 2, but bool holds 0 to 1");
  CHECK(stored("u32 x", 0.5) == "is 0.5, which is not a whole number, as u32 needs");
}

TEST_CASE("only what is stored is read") {
  for (const char* text : {"int 1", "i32 01", "i32 1.0", "i32  1", "f32 3", "i32 1; exit(1)", "q"})
    CHECK_FALSE(read_scalar(text));
}
