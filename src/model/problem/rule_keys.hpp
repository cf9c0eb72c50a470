// rule_keys.hpp: Finds and counts the keys that masks with an expression leave visible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/problem/mask.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/rule.hpp"

namespace fatune {

/// Tells which keys of which rows are visible, of masks with an expression or without.
class VisibleKeys {
 public:
  explicit VisibleKeys(const Attention& problem);
  bool has(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t key) const;
  bool any(std::int64_t batch, std::int64_t head, std::int64_t row) const;
  /// Returns 0 for each hidden key of the range, which lies within visible_keys() of the row.
  std::vector<double> shown(std::int64_t batch, std::int64_t head, std::int64_t row,
                            const KeyRange& range) const;
  /// Returns for each (batch, head, row) whether the row sees a key; empty if every row does.
  std::vector<bool> seeing() const;

 private:
  Attention problem_;
  std::optional<PairRule> rule_;
};

/// Tells whether an expression of the problem names batch entries or heads, or their counts.
bool names_heads(const Attention& problem);

/// Visible pairs, rows without a visible key, and keys that some row sees: means for one head.
struct RuleCounts {
  double pairs = 0, unseeing_rows = 0, seen_keys = 0;
  static RuleCounts of(const Attention& problem);
};

}  // namespace fatune
