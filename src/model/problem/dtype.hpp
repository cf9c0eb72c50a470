// dtype.hpp: Defines the element types of tensors: names, sizes, and conversion on the host.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

/// Enumerators have the values of the DTYPE macro.
enum class Dtype { kF16 = 1, kBf16 = 2, kE4m3 = 3, kE5m2 = 4 };

std::string_view name(Dtype dtype);  ///< "f16", "bf16", "e4m3", "e5m2"
Result<Dtype> parse_dtype(std::string_view text);
FieldWord<Dtype> word_of(const Dtype*);
int size_of(Dtype dtype);  ///< bytes of one element

/// Rounds to nearest even, saturating for the fp8 types; NaN stays NaN. The low bits of the result
/// hold the element.
std::uint16_t encode(Dtype dtype, float value);
float decode(Dtype dtype, std::uint16_t bits);
/// decode() of every bit pattern: 65,536 or 256 entries, so that host comparisons look values up.
std::span<const float> decode_table(Dtype dtype);

}  // namespace fatune
