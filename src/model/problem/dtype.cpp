// dtype.cpp: Converts floats to 16-bit and 8-bit elements and back by integer arithmetic.
#include "model/problem/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

/// A binary floating-point format: sign, exponent, mantissa from the top.
struct Format {
  std::string_view name;
  int bytes;
  int mantissa_bits;
  int least_exponent;    ///< of a normal number: 1 - bias
  unsigned max_finite;   ///< bit pattern of the largest finite number
  unsigned beyond;       ///< result of overflow: infinity, or max_finite for a saturating type
  unsigned nan;          ///< a NaN pattern
  unsigned nan_payload;  ///< mantissa bits that a NaN may keep
};

// f16: IEEE 754 binary16. bf16: the upper half of binary32. e4m3 and e5m2: OCP 8-bit floating point
// (OFP8, revision 1.0); e4m3 has no infinity and one NaN per sign.
constexpr std::array<Format, 4> kFormats = {{
    {"f16", 2, 10, -14, 0x7BFF, 0x7C00, 0x7C00, 0x3FF},
    {"bf16", 2, 7, -126, 0x7F7F, 0x7F80, 0x7F80, 0x7F},
    {"e4m3", 1, 3, -6, 0x7E, 0x7E, 0x7F, 0},
    {"e5m2", 1, 2, -14, 0x7B, 0x7B, 0x7C, 0x3},
}};

const Format& format_of(Dtype dtype) {
  const auto index = static_cast<std::size_t>(dtype) - 1;
  FATUNE_CHECK(index < kFormats.size(), "a Dtype is one of the four");
  return kFormats[index];
}

constexpr int kFloatMantissaBits = 23;
constexpr std::uint32_t kFloatInfinity = 0x7F800000;

/// Returns the format's bits for the magnitude of a finite number.
unsigned round_magnitude(const Format& format, std::uint32_t magnitude) {
  const std::uint32_t field = magnitude >> kFloatMantissaBits;
  const std::uint32_t fraction = magnitude & 0x7FFFFFU;
  const int exponent = field == 0 ? -126 : static_cast<int>(field) - 127;
  const std::uint32_t significand = field == 0 ? fraction : fraction | 0x800000U;
  const int below_normal = std::max(0, format.least_exponent - exponent);
  const int shift = kFloatMantissaBits - format.mantissa_bits + below_normal;
  if (shift > 24) return 0;  // below half of the smallest subnormal
  const std::uint32_t half = 1U << (shift - 1);
  const std::uint32_t rest = significand & (2 * half - 1);
  std::uint32_t rounded = significand >> shift;
  if (rest > half || (rest == half && (rounded & 1U) != 0)) ++rounded;
  // An implicit leading bit of `rounded` adds 1 to the exponent field, as does a carry.
  const int steps = std::max(0, exponent - format.least_exponent);
  const unsigned bits = (static_cast<unsigned>(steps) << format.mantissa_bits) + rounded;
  return bits > format.max_finite ? format.beyond : bits;
}

unsigned encode_nan(const Format& format, std::uint32_t magnitude) {
  const unsigned payload =
      (magnitude >> (kFloatMantissaBits - format.mantissa_bits)) & format.nan_payload;
  // A payload without bits that fit becomes the quiet bit: an empty payload would mean infinity.
  const unsigned quiet = format.nan_payload & ~(format.nan_payload >> 1U);
  return format.nan | (payload != 0 ? payload : quiet);
}

std::vector<float> make_table(Dtype dtype) {
  std::vector<float> table(std::size_t{1} << (8 * size_of(dtype)));
  for (std::size_t bits = 0; bits < table.size(); ++bits) {
    table[bits] = decode(dtype, static_cast<std::uint16_t>(bits));
  }
  return table;
}

/// Names in other programs, with the name here.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"half", "f16"},    {"float16", "f16"},        {"bfloat16", "bf16"},   {"fp8", "e4m3"},
    {"float8", "e4m3"}, {"float8_e4m3fn", "e4m3"}, {"float8_e5m2", "e5m2"}};

}  // namespace

std::string_view name(Dtype dtype) { return format_of(dtype).name; }

int size_of(Dtype dtype) { return format_of(dtype).bytes; }

Result<Dtype> parse_dtype(std::string_view text) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (kFormats[i].name == text) return static_cast<Dtype>(i + 1);
    known.emplace_back(kFormats[i].name);
  }
  for (const auto& [other, ours] : kOtherNames) {
    if (other == text)
      return usage_error(fmt::format("dtype '{}' is unknown; did you mean '{}'?", text, ours));
  }
  return usage_error(fmt::format(
      "dtype '{}' is unknown; {}", text,
      nearest_hint(text, known, "did you mean '{}'?", "known are " + join(known, ", "))));
}

FieldWord<Dtype> word_of(const Dtype*) {
  static constexpr std::array kAll = {Dtype::kF16, Dtype::kBf16, Dtype::kE4m3, Dtype::kE5m2};
  return {parse_dtype, kAll};
}

std::uint16_t encode(Dtype dtype, float value) {
  const Format& format = format_of(dtype);
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = word & 0x7FFFFFFFU;
  unsigned bits = 0;
  if (magnitude > kFloatInfinity) {
    bits = encode_nan(format, magnitude);
  } else if (magnitude == kFloatInfinity) {
    bits = format.beyond;
  } else {
    bits = round_magnitude(format, magnitude);
  }
  const unsigned sign = word >> 31U << (8 * format.bytes - 1);
  return static_cast<std::uint16_t>(sign | bits);
}

float decode(Dtype dtype, std::uint16_t bits) {
  const Format& format = format_of(dtype);
  const int sign_at = 8 * format.bytes - 1;
  const unsigned magnitude = bits & ((1U << sign_at) - 1);
  const std::uint32_t sign = (bits >> sign_at & 1U) << 31U;
  const unsigned mantissa = magnitude & ((1U << format.mantissa_bits) - 1);
  if (magnitude > format.max_finite) {  // infinity or NaN
    const std::uint32_t payload = mantissa << (kFloatMantissaBits - format.mantissa_bits);
    return std::bit_cast<float>(sign | kFloatInfinity | payload);
  }
  const auto field = static_cast<int>(magnitude >> format.mantissa_bits);
  const unsigned leading = field == 0 ? 0U : 1U << format.mantissa_bits;
  const int exponent = std::max(field - 1, 0) + format.least_exponent - format.mantissa_bits;
  const float value = std::ldexp(static_cast<float>(leading + mantissa), exponent);
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

std::span<const float> decode_table(Dtype dtype) {
  static const std::array<std::vector<float>, kFormats.size()> tables = {
      make_table(Dtype::kF16), make_table(Dtype::kBf16), make_table(Dtype::kE4m3),
      make_table(Dtype::kE5m2)};
  return tables.at(static_cast<std::size_t>(dtype) - 1);
}

}  // namespace fatune
