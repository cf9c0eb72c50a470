// lengths.hpp: Defines lengths that kernels read at run time: of padded batch entries or of
// documents.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace fatune {

struct Attention;

/// Which keys lengths leave visible. The numbers are those of the macro LENGTHS.
enum class LengthsKind { kNone, kRight, kLeft, kDocuments };

/// kRight and kLeft: the first or last keys of each batch entry are visible; the numbers repeat
/// over the batch. kDocuments: documents follow one another, and a query sees keys of its own.
struct Lengths {
  LengthsKind kind = LengthsKind::kNone;
  std::vector<std::int64_t> numbers = {};
  friend auto operator<=>(const Lengths&, const Lengths&) = default;
  bool operator==(const Lengths& other) const;

  std::int64_t of(std::int64_t batch) const {
    return numbers[static_cast<std::size_t>(batch) % numbers.size()];
  }
  bool repeats() const { return kind == LengthsKind::kRight || kind == LengthsKind::kLeft; }
  std::int64_t documents() const {
    return kind == LengthsKind::kDocuments ? static_cast<std::int64_t>(numbers.size()) : 0;
  }
};

/// "padding:128,97", "padding-left:128", "document:700,1400"; empty for none.
std::string name(const Lengths& lengths);
/// Parses name(), and leaves out repetitions.
Result<Lengths> parse_lengths(std::string_view text);

/// Returns lengths of the kind for other sizes: among them 0, 1 and all keys, as far as they fit.
Lengths resized(const Lengths& lengths, std::int64_t batch, std::int64_t seq_kv);
/// Returns the lengths, or the longest one if they are more than batch entries.
Lengths fitted(Lengths lengths, std::int64_t batch);
/// Returns what is wrong with the lengths of the problem; empty if nothing is.
std::string lengths_fault(const Attention& problem);

/// The tensor `lengths`: one for each batch entry; or where each document begins, and the end.
std::vector<std::int32_t> lengths_tensor(const Attention& problem);

}  // namespace fatune
