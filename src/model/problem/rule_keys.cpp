// rule_keys.cpp: Finds and counts the keys that masks with an expression leave visible.
#include "model/problem/rule_keys.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "core/result.hpp"

namespace fatune {
namespace {

constexpr std::int64_t kTile = 128;  // rows and keys that bounds are asked for; chosen

/// Counts of one head.
struct HeadCount {
  double pairs = 0;
  std::vector<bool> rows, keys;  ///< whether a row sees a key, or any row sees the key
};

/// Counts the pairs of a tile. Its rows' keys are clipped to those without the expression.
void count_tile(const Attention& p, const PairRule& rule, const Pairs& tile, HeadCount& count) {
  const std::optional<bool> all = rule.shows(p, tile);
  if (all == false) return;
  for (std::int64_t row = tile.query.least; row <= tile.query.most; ++row) {
    const KeyRange seen = visible_keys(p, tile.batch.least, row);
    const KeyRange keys = {std::max(seen.begin, tile.key.least),
                           std::min(seen.end, tile.key.most + 1)};
    if (keys.count() <= 0) continue;
    std::vector<double> shown(static_cast<std::size_t>(keys.count()), 1);
    const Pairs line = {tile.batch, tile.head, {row, row}, {keys.begin, keys.end - 1}};
    if (!all) rule.evaluate(p, line, shown);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (shown[i] == 0) continue;
      ++count.pairs;
      count.rows[static_cast<std::size_t>(row)] = true;
      count.keys[static_cast<std::size_t>(keys.begin) + i] = true;
    }
  }
}

HeadCount count_head(const Attention& p, const PairRule& rule, std::int64_t batch,
                     std::int64_t head) {
  HeadCount count;
  count.rows.resize(static_cast<std::size_t>(p.seq_q));
  count.keys.resize(static_cast<std::size_t>(p.seq_kv));
  for (std::int64_t row = 0; row < p.seq_q; row += kTile) {
    for (std::int64_t key = 0; key < p.seq_kv; key += kTile) {
      count_tile(p, rule,
                 {{batch, batch},
                  {head, head},
                  {row, std::min(row + kTile, p.seq_q) - 1},
                  {key, std::min(key + kTile, p.seq_kv) - 1}},
                 count);
    }
  }
  return count;
}

RuleCounts count_all(const Attention& p) {
  const PairRule rule = PairRule::of(p.mask.rule, RuleKind::kMask);
  const bool batches = rule.uses("b") || p.mask.lengths.repeats();
  RuleCounts counts;
  double heads = 0;
  for (std::int64_t batch = 0; batch < (batches ? p.batch : 1); ++batch) {
    for (std::int64_t head = 0; head < (rule.uses("h") ? p.heads : 1); ++head) {
      const HeadCount one = count_head(p, rule, batch, head);
      counts.pairs += one.pairs;
      counts.unseeing_rows += static_cast<double>(std::ranges::count(one.rows, false));
      counts.seen_keys += static_cast<double>(std::ranges::count(one.keys, true));
      ++heads;
    }
  }
  return {counts.pairs / heads, counts.unseeing_rows / heads, counts.seen_keys / heads};
}

}  // namespace

bool names_heads(const Attention& p) {
  static constexpr std::array<std::string_view, 5> kNames = {"b", "h", "BATCH", "HEADS",
                                                             "KV_HEADS"};
  const auto names_one = [](const std::string& text, RuleKind kind) {
    if (text.empty()) return false;
    const PairRule rule = PairRule::of(text, kind);
    return std::ranges::any_of(kNames, [&](auto name) { return rule.uses(name); });
  };
  return names_one(p.mask.rule, RuleKind::kMask) || names_one(p.score, RuleKind::kScore);
}

RuleCounts RuleCounts::of(const Attention& p) {
  // Records of one problem are read by the thousand.
  static std::mutex mutex;
  static std::map<std::tuple<Mask, std::array<std::int64_t, 6>, std::vector<NamedTensor>>,
                  RuleCounts>
      known;
  const std::lock_guard lock(mutex);
  const std::array sizes = {p.batch, p.heads, p.kv_heads, p.seq_q, p.seq_kv, p.head_dim};
  const auto [place, fresh] = known.try_emplace({p.mask, sizes, p.tensors});
  if (fresh) place->second = count_all(p);
  return place->second;
}

VisibleKeys::VisibleKeys(const Attention& problem) : problem_(problem) {
  if (!problem.mask.rule.empty()) rule_ = PairRule::of(problem.mask.rule, RuleKind::kMask);
}

std::vector<double> VisibleKeys::shown(std::int64_t batch, std::int64_t head, std::int64_t row,
                                       const KeyRange& range) const {
  std::vector<double> values(static_cast<std::size_t>(range.count()), 1);
  if (rule_ && !values.empty())
    rule_->evaluate(problem_, {{batch, batch}, {head, head}, {row, row}, {range.begin, range.end}},
                    values);
  return values;
}

bool VisibleKeys::has(std::int64_t batch, std::int64_t head, std::int64_t row,
                      std::int64_t key) const {
  return visible_keys(problem_, batch, row).has(key) &&
         shown(batch, head, row, {key, key + 1}).front() != 0;
}

bool VisibleKeys::any(std::int64_t batch, std::int64_t head, std::int64_t row) const {
  const KeyRange range = visible_keys(problem_, batch, row);
  if (!rule_) return range.count() > 0;
  const std::vector<double> keys = shown(batch, head, row, range);
  return std::ranges::any_of(keys, [](double each) { return each != 0; });
}

std::vector<bool> VisibleKeys::seeing() const {
  if (unseeing_rows(problem_) == 0) return {};
  std::vector<bool> rows;
  for (std::int64_t batch = 0; batch < problem_.batch; ++batch) {
    for (std::int64_t head = 0; head < problem_.heads; ++head) {
      for (std::int64_t row = 0; row < problem_.seq_q; ++row) rows.push_back(any(batch, head, row));
    }
  }
  return rows;
}

}  // namespace fatune
