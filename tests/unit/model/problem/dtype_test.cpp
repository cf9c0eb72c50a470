// dtype_test.cpp: Checks every bit pattern of every element type, and rounding between them.
#include "model/problem/dtype.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace fatune;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

unsigned sign_bit(Dtype dtype) { return 1U << (8 * size_of(dtype) - 1); }

struct Known {
  Dtype dtype;
  unsigned bits;
  float value;
};

}  // namespace

TEST_CASE("names and sizes") {
  CHECK(name(Dtype::kBf16) == "bf16");
  CHECK(size_of(Dtype::kF16) == 2);
  CHECK(size_of(Dtype::kE5m2) == 1);
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16, Dtype::kE4m3, Dtype::kE5m2}) {
    CHECK(*parse_dtype(name(dtype)) == dtype);
  }
  CHECK(parse_dtype("fp16").error().message == "dtype 'fp16' is unknown; did you mean 'f16'?");
  CHECK(parse_dtype("double").error().message ==
        "dtype 'double' is unknown; known are f16, bf16, e4m3, e5m2");
}

TEST_CASE("known values of each format") {
  const auto known =
      GENERATE(Known{Dtype::kF16, 0x0001, 0x1p-24F}, Known{Dtype::kF16, 0x03FF, 0x3FFp-24F},
               Known{Dtype::kF16, 0x0400, 0x1p-14F}, Known{Dtype::kF16, 0x3C00, 1},
               Known{Dtype::kF16, 0xC000, -2}, Known{Dtype::kF16, 0x7BFF, 65504},
               Known{Dtype::kF16, 0x7C00, kInfinity}, Known{Dtype::kF16, 0x3555, 0x1.554p-2F},
               Known{Dtype::kBf16, 0x0001, 0x1p-133F}, Known{Dtype::kBf16, 0x0080, 0x1p-126F},
               Known{Dtype::kBf16, 0x3F80, 1}, Known{Dtype::kBf16, 0x7F7F, 0x1.FEp127F},
               Known{Dtype::kBf16, 0xFF80, -kInfinity}, Known{Dtype::kE4m3, 0x01, 0x1p-9F},
               Known{Dtype::kE4m3, 0x07, 0x7p-9F}, Known{Dtype::kE4m3, 0x08, 0x1p-6F},
               Known{Dtype::kE4m3, 0x38, 1}, Known{Dtype::kE4m3, 0x78, 256},
               Known{Dtype::kE4m3, 0x7E, 448}, Known{Dtype::kE4m3, 0xFE, -448},
               Known{Dtype::kE5m2, 0x01, 0x1p-16F}, Known{Dtype::kE5m2, 0x04, 0x1p-14F},
               Known{Dtype::kE5m2, 0x3C, 1}, Known{Dtype::kE5m2, 0x7B, 57344});
  CAPTURE(name(known.dtype), known.bits);
  CHECK(decode(known.dtype, static_cast<std::uint16_t>(known.bits)) == known.value);
  CHECK(encode(known.dtype, known.value) == known.bits);
}

TEST_CASE("every pattern decodes and encodes to itself") {
  const Dtype dtype = GENERATE(Dtype::kF16, Dtype::kBf16, Dtype::kE4m3, Dtype::kE5m2);
  CAPTURE(name(dtype));
  const std::span<const float> table = decode_table(dtype);
  REQUIRE(table.size() == 2 * sign_bit(dtype));
  std::size_t nans = 0;
  std::size_t broken = 0;
  for (unsigned bits = 0; bits < table.size(); ++bits) {
    const float value = table[bits];
    if (std::isnan(value)) ++nans;
    const bool saturates = std::isinf(value) && dtype == Dtype::kE5m2;
    const unsigned expected = saturates ? (bits & sign_bit(dtype)) | 0x7BU : bits;
    if (encode(dtype, value) != expected) ++broken;
    if (std::signbit(value) != ((bits & sign_bit(dtype)) != 0)) ++broken;
  }
  CHECK(broken == 0);
  const std::size_t expected_nans = dtype == Dtype::kF16    ? 2046
                                    : dtype == Dtype::kBf16 ? 254
                                    : dtype == Dtype::kE4m3 ? 2
                                                            : 6;
  CHECK(nans == expected_nans);
}

TEST_CASE("between neighbours the nearer wins, halfway the even one") {
  const Dtype dtype = GENERATE(Dtype::kF16, Dtype::kBf16, Dtype::kE4m3, Dtype::kE5m2);
  CAPTURE(name(dtype));
  const std::span<const float> table = decode_table(dtype);
  std::size_t broken = 0;
  for (unsigned low = 0; low + 1 < sign_bit(dtype); ++low) {
    if (!std::isfinite(table[low + 1])) break;
    // In double, where the middle is exact; as floats, the middle and its two neighbours.
    const double exact =
        (static_cast<double>(table[low]) + static_cast<double>(table[low + 1])) / 2;
    const auto middle = static_cast<float>(exact);
    if (static_cast<double>(middle) != exact) continue;
    const unsigned even = low % 2 == 0 ? low : low + 1;
    if (encode(dtype, middle) != even) ++broken;
    if (encode(dtype, -middle) != (even | sign_bit(dtype))) ++broken;
    if (encode(dtype, std::nextafter(middle, 0.0F)) != low) ++broken;
    if (encode(dtype, std::nextafter(middle, kInfinity)) != low + 1) ++broken;
  }
  CHECK(broken == 0);
}

TEST_CASE("too large becomes infinity in 16 bits and the largest number in 8") {
  CHECK(encode(Dtype::kF16, 65519.996F) == 0x7BFF);
  CHECK(encode(Dtype::kF16, 65520) == 0x7C00);
  CHECK(encode(Dtype::kF16, -1e30F) == 0xFC00);
  CHECK(encode(Dtype::kBf16, std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(encode(Dtype::kE4m3, 465) == 0x7E);
  CHECK(encode(Dtype::kE4m3, -1e30F) == 0xFE);
  CHECK(encode(Dtype::kE4m3, kInfinity) == 0x7E);
  CHECK(encode(Dtype::kE5m2, 1e30F) == 0x7B);
  CHECK(encode(Dtype::kE5m2, -kInfinity) == 0xFB);
}

TEST_CASE("too small becomes a signed zero") {
  for (const Dtype dtype : {Dtype::kF16, Dtype::kE4m3, Dtype::kE5m2}) {
    CHECK(encode(dtype, std::numeric_limits<float>::denorm_min()) == 0);
    CHECK(encode(dtype, -1e-30F) == sign_bit(dtype));
    CHECK(std::signbit(decode(dtype, encode(dtype, -0.0F))));
  }
  CHECK(encode(Dtype::kF16, 0x1p-25F) == 0);  // halfway to the smallest, so even
  CHECK(encode(Dtype::kF16, 0x1.000002p-25F) == 1);
  CHECK(encode(Dtype::kBf16, std::numeric_limits<float>::denorm_min()) == 0);
}

TEST_CASE("NaN stays NaN, whatever its payload") {
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16, Dtype::kE4m3, Dtype::kE5m2}) {
    CAPTURE(name(dtype));
    CHECK(std::isnan(decode(dtype, encode(dtype, kNan))));
    CHECK(std::isnan(decode(dtype, encode(dtype, -kNan))));
    const auto lowest_payload = std::bit_cast<float>(0x7F800001U);
    CHECK(std::isnan(decode(dtype, encode(dtype, lowest_payload))));
  }
}
