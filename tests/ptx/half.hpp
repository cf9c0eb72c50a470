// half.hpp: Converts f16, bf16 and fp8 values to floats, and pairs of them to words.
#pragma once

#include <cstdint>

#include "model/problem/dtype.hpp"

namespace fatune::ptx {

template <Dtype kType>
float decoded(std::uint32_t bits) {
  static const float* const kTable = decode_table(kType).data();
  return kTable[bits & (kType == Dtype::kF16 || kType == Dtype::kBf16 ? 0xffffU : 0xffU)];
}

/// NaN of either 16-bit type, as instructions leave it.
constexpr std::uint32_t kNotANumber = 0x7fff;

/// Rounded to nearest even; f16 has a short way for the usual magnitudes.
template <Dtype kType>
std::uint32_t encoded(float value) {
  constexpr bool k16Bit = kType == Dtype::kF16 || kType == Dtype::kBf16;
  return k16Bit && value != value ? kNotANumber : encode(kType, value);
}

}  // namespace fatune::ptx
