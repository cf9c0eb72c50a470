// tensor_core.hpp: Converts a warp's fragments to float matrices and back, and multiplies them.
#pragma once

#include <optional>
#include <string_view>

#include "ptx/machine.hpp"

namespace fatune::ptx {

enum class Element : std::uint8_t { kF16, kBf16, kE4m3, kE5m2 };
std::optional<Element> element_of(std::string_view word);
std::size_t width(Element element);  ///< bytes
/// Values of all bit patterns.
const float* table_of(Element element);

/// 16 rows of `columns`: what a warp holds of an accumulator. f32, or pairs of f16.
struct Accumulators {
  int columns = 8;
  bool halves = false;

  int registers() const { return columns / (halves ? 4 : 2); }
  void read(const Turn& turn, const Ref* refs, float* values) const;
  void write(const Turn& turn, const Ref* refs, const float* values) const;
};

/// A of 16 rows and 16 or 32 columns by four registers: two for 16 bytes of a row's columns.
void read_a(const Turn& turn, const Ref* refs, Element element, int columns, float* values);
/// B of 8 columns, row-major: a register for 16 bytes of a column's rows.
void read_b(const Turn& turn, const Ref* refs, Element element, int rows, float* values);

/// c += a b: c is 16 x n, a 16 x k, b k x n.
void multiply(const float* a, const float* b, float* c, int n, int k);

/// Bits behind the leading one that Hopper's tensor cores keep of sums of fp8 products.
/// DeepSeek-V3's report (3.5.2) has 14 with the leading one, SageAttention2 an accumulator of 13.
/// Beside an H200: kernels/fa_wgmma/notes.md, "FP8".
inline constexpr int kFp8SumBits = 13;

/// The same by wgmma of fp8, whose k is one step. The products and c are cut off, toward zero, at
/// kFp8SumBits below the largest exponent among them. Their sum is cut off below its own exponent.
void multiply_fp8(const float* a, const float* b, float* c, int n, int k);

}  // namespace fatune::ptx
