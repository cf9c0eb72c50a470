// layout.hpp: Describes where the rows of q, k, v and out lie in memory: layout names and strides.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

/// Strides in elements between batch entries, heads and rows. The columns of a row are contiguous.
struct Strides {
  std::int64_t batch = 0, head = 0, row = 0;
  /// Returns the strides of batch, head, row and column.
  std::array<std::int64_t, 4> all() const { return {batch, head, row, 1}; }
  friend auto operator<=>(const Strides&, const Strides&) = default;
};

/// `kBhsd`: contiguous (batch, heads, seq, head_dim). `kBshd`: contiguous (batch, seq, heads,
/// head_dim). `kPacked`: q, k and v are parts of one contiguous (batch, seq, heads + 2 kv_heads,
/// head_dim), the output of a GEMM with packed weights. `kStrides`: explicit strides.
enum class LayoutKind { kBhsd, kBshd, kPacked, kStrides };

struct Layout {
  LayoutKind kind = LayoutKind::kBhsd;
  Strides strides = {};  ///< set for kStrides only
  friend auto operator<=>(const Layout&, const Layout&) = default;
};

struct Layouts {
  Layout q, k, v, out;
  friend auto operator<=>(const Layouts&, const Layouts&) = default;
  /// Returns the layout of "q", "k", "v" or "out".
  const Layout& of(std::string_view tensor) const;
  /// Whether every tensor is contiguous (batch, heads, seq, head_dim).
  bool plain() const { return *this == Layouts(); }
};

/// Returns the shortest text that parse_layouts() accepts: "bhsd", "bshd", "packed",
/// "packed,out=bhsd", "q=32768:64:512,k=...".
std::string name(const Layouts& layouts);
/// Returns name() in the spelling for file names and keys: "q-32768-64-512".
std::string slug(const Layouts& layouts);
/// Parses one word for all tensors, NAME=LAYOUT pairs, or the word followed by pairs that override
/// it. "packed" packs q, k and v and makes out bshd. Unnamed tensors are bhsd. LAYOUT is bhsd,
/// bshd, packed, or the strides BATCH:HEAD:ROW in elements.
Result<Layouts> parse_layouts(std::string_view text);
FieldWord<Layouts> word_of(const Layouts*);

/// The sizes of one tensor.
struct TensorSizes {
  std::int64_t batch = 1, heads = 1, rows = 1, columns = 1;
};
Strides bhsd_strides(const TensorSizes& sizes);
Strides bshd_strides(const TensorSizes& sizes);
/// Describes the fault of explicit strides for elements of `width` bytes: rows that overlap or are
/// not 16-byte aligned. Empty for valid strides.
std::string strides_fault(const TensorSizes& sizes, const Strides& strides, int width);

}  // namespace fatune
