// mask.hpp: Defines which keys each query sees: all, those up to a diagonal, a window, a prefix.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/problem/lengths.hpp"

namespace fatune {

struct Attention;

/// The forms of a mask; a manifest lists those that its kernel takes.
enum class MaskKind {
  kNone,
  kCausal,
  kUpperLeft,
  kWindow,
  kPrefix,
  kPadding,
  kDocument,
  kExpression
};
std::string_view name(MaskKind kind);  ///< "causal-upper-left"
Result<MaskKind> parse_mask_kind(std::string_view text);
FieldWord<MaskKind> word_of(const MaskKind*);

/// Query i has position p = i + seq_kv - seq_q; with `upper_left`, p = i. It sees the keys from
/// p - before to p + after, both included, and the first `prefix` keys; these are neighbours.
/// `rule` hides further ones. A query that sees no key has an output of zeros.
struct Mask {
  std::optional<std::int64_t> before = std::nullopt, after = std::nullopt;  ///< empty: all
  bool upper_left = false;
  std::int64_t prefix = 0;
  Lengths lengths = {};   ///< hide further keys; not together with upper_left or prefix
  std::string rule = {};  ///< the text() of a PairRule, or empty
  friend auto operator<=>(const Mask&, const Mask&) = default;

  static const Mask kNone, kCausal;
};
inline const Mask Mask::kNone = {};
inline const Mask Mask::kCausal = {.after = 0};

MaskKind kind_of(const Mask& mask);  ///< without its lengths and its rule
/// Returns kind_of(), and the kinds of lengths and of a rule.
std::vector<MaskKind> kinds_of(const Mask& mask);
/// Returns a mask of the kind, with narrow bounds: for a lint.
Mask example_of(MaskKind kind);
/// "none", "causal", "causal-upper-left", "window:64,32", "causal-window:128", "prefix:512",
/// "padding:97,66", "causal+document:700,1400", "causal && (k < 4 || q - k < 128)".
std::string name(const Mask& mask);
/// Returns name() in the spelling for file names: "window-64-32". A long list of lengths becomes a
/// checksum.
std::string slug(const Mask& mask);
/// Parses name(). window:L,R is FlashAttention's window_size (L, R); causal-window:N is
/// window:N-1,0, the last N keys. The error says what is wrong, and what would be right.
Result<Mask> parse_mask(std::string_view text);
FieldWord<Mask> word_of(const Mask*);

/// Returns the one spelling of the mask at these lengths: bounds that hide nothing are left out, or
/// of a window made no larger than they need be; a rule's bounds of key - query become the mask's.
Mask canonical(Mask mask, std::int64_t seq_q, std::int64_t seq_kv);
/// Returns the mask at shorter lengths: bounds shrink, so that they still hide something, and
/// lengths are resized().
Mask narrowed(Mask mask, std::int64_t batch, std::int64_t seq_q, std::int64_t seq_kv);

/// Returns what is wrong with the mask of the problem; empty if nothing is.
std::string mask_fault(const Attention& problem);

/// Keys `begin` to `end` - 1; both are equal where no key is visible.
struct KeyRange {
  std::int64_t begin = 0, end = 0;
  bool has(std::int64_t key) const { return begin <= key && key < end; }
  std::int64_t count() const { return end - begin; }
};
/// Returns the keys that the mask without its rule shows.
KeyRange visible_keys(const Attention& problem, std::int64_t batch, std::int64_t row);
/// Returns the rows, `begin` to `end` - 1, of a head of the batch entry that see keys.
KeyRange seeing_rows(const Attention& problem, std::int64_t batch);
/// Returns how many rows of a head see no key. This and the next two are means over heads.
double unseeing_rows(const Attention& problem);
/// Returns how many keys of a head any row sees.
double seen_keys(const Attention& problem);
/// Returns the query-key pairs of a head that are not masked.
double visible_pairs(const Attention& problem);

/// Returns when query i of batch entry b sees key j: "j <= i + 3"; empty without a mask.
std::string mask_rule(const Attention& problem);
/// Returns the distance of query i and key j: "|i + 3 - j|".
std::string distance_rule(const Attention& problem);

/// The numbers by which templates and manifests know a mask; kernels/README.md explains the macros.
struct MaskSizes {
  std::int64_t diagonal = 0;                       ///< position of query 0
  std::int64_t keys_before = -1, keys_after = -1;  ///< -1: all
};
MaskSizes mask_sizes(const Attention& problem);

}  // namespace fatune
