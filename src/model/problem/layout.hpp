// layout.hpp - where the rows of q, k, v and out lie in memory: names and strides, from text and
// back.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

/// Elements from one batch entry, head and row of a tensor to the next; the columns of a row lie
/// side by side.
struct Strides {
  std::int64_t batch = 0, head = 0, row = 0;
  /// Of batch, head, row and column.
  std::array<std::int64_t, 4> all() const { return {batch, head, row, 1}; }
  friend auto operator<=>(const Strides&, const Strides&) = default;
};

/// kBhsd: contiguous (batch, heads, seq, head_dim). kBshd: contiguous (batch, seq, heads,
/// head_dim). kPacked: q, k and v are parts of one contiguous (batch, seq, heads + 2 kv_heads,
/// head_dim), which a product over packed weights leaves. kStrides: as told.
enum class LayoutKind { kBhsd, kBshd, kPacked, kStrides };

struct Layout {
  LayoutKind kind = LayoutKind::kBhsd;
  Strides strides = {};  ///< of kStrides
  friend auto operator<=>(const Layout&, const Layout&) = default;
};

struct Layouts {
  Layout q, k, v, out;
  friend auto operator<=>(const Layouts&, const Layouts&) = default;
  /// Of "q", "k", "v" or "out".
  const Layout& of(std::string_view tensor) const;
  /// Whether every tensor is contiguous (batch, heads, seq, head_dim).
  bool plain() const { return *this == Layouts(); }
};

/// The shortest text that parse_layouts() reads as these: "bhsd", "bshd", "packed",
/// "packed,out=bhsd", "q=32768:64:512,k=...".
std::string name(const Layouts& layouts);
/// The same for names of files and keys: "q-32768-64-512".
std::string slug(const Layouts& layouts);
/// A word for all tensors ("packed": of q, k and v, with out as bshd), or NAME=LAYOUT by tensor,
/// or the word first and then what differs; what is not named is bhsd. LAYOUT is bhsd, bshd,
/// packed, or the strides BATCH:HEAD:ROW in elements.
Result<Layouts> parse_layouts(std::string_view text);
FieldWord<Layouts> word_of(const Layouts*);

/// The sizes of one tensor.
struct TensorSizes {
  std::int64_t batch = 1, heads = 1, rows = 1, columns = 1;
};
Strides bhsd_strides(const TensorSizes& sizes);
Strides bshd_strides(const TensorSizes& sizes);
/// What is wrong with strides that were told, for elements of `width` bytes: rows that overlap or
/// are not 16-byte aligned. Empty when nothing is.
std::string strides_fault(const TensorSizes& sizes, const Strides& strides, int width);

}  // namespace fatune
