// enumerate.cpp: Walks the tree of axes depth first and cuts subtrees that break a rule.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "model/space/rules.hpp"

namespace fatune {
namespace {

// Largest verdict table of a rule, in combinations of its axes (chosen: 4 MiB a rule).
constexpr std::uint64_t kMaxTable = std::uint64_t{1} << 22U;
// Largest number of raw points walked in axis order, which needs no sorting afterwards.
constexpr std::uint64_t kOwnOrderUpTo = std::uint64_t{1} << 25U;
// Most values tried, over all levels, before the walk gives up (chosen).
constexpr std::uint64_t kMaxSteps = std::uint64_t{2'000'000'000};
constexpr std::chrono::seconds kMostTime{10};  // chosen; a value may cost a nanosecond or a rule
constexpr std::uint64_t kStepsPerLook = std::uint64_t{1} << 16U;

enum class Verdict : std::uint8_t { kUnknown, kHolds, kBroken, kUndefined };

/// A rule at one level of the walk, with a mixed-radix index over the axes that the rule mentions.
struct LevelRule {
  std::size_t rule = 0;
  bool is_choice = false;
  std::vector<std::uint64_t> weights;  ///< for each of the rule's axes
  std::uint64_t stride = 0;            ///< weight of the level's own axis
  std::vector<Verdict> table;          ///< empty: too large for a table, evaluate every time
  std::uint64_t base = 0;              ///< index with the level's own axis at 0
};

class Walker {
  using Clock = std::chrono::steady_clock;

 public:
  Walker(std::span<const std::size_t> sizes, std::span<CompiledRule> rules, std::uint64_t limit,
         const DescribePoint& describe_point)
      : sizes_(sizes),
        rules_(rules),
        limit_(limit),
        describe_point_(describe_point),
        positions_(sizes.size(), 0) {
    found_.excluded.assign(rules.size(), 0);
  }

  Result<Enumeration> run() {
    product_ = std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{1}, std::multiplies<>());
    choose_order();
    prepare_levels();
    found_.raw_size = raw_below(0);
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      if (!rules_[r].axes().empty()) continue;
      FATUNE_TRY(const bool holds, rules_[r].holds(positions_));
      if (holds) continue;
      found_.excluded[r] = found_.raw_size;
      return std::move(found_);
    }
    FATUNE_TRY_STATUS(stopped_);
    FATUNE_TRY_STATUS(walk(0, 0));
    FATUNE_TRY_STATUS(stopped_);
    if (!std::is_sorted(order_.begin(), order_.end())) {
      std::sort(found_.codes.begin(), found_.codes.end());
    }
    return std::move(found_);
  }

 private:
  void choose_order();
  void prepare_levels();
  Status walk(std::size_t level, std::uint64_t code);
  Result<bool> passes(std::size_t level, std::uint16_t position);
  Verdict ask(LevelRule& level_rule, std::uint16_t position);
  void enter(std::size_t level);
  std::uint64_t raw_below(std::size_t level);
  Status settle_one_by_one(std::size_t level);
  Status settle_point();
  bool must_stop(std::uint64_t steps);

  std::span<const std::size_t> sizes_;
  std::span<CompiledRule> rules_;
  std::uint64_t limit_;
  const DescribePoint& describe_point_;
  std::vector<std::uint16_t> positions_;
  std::uint64_t product_ = 1;
  std::uint64_t looked_at_ = 0;  ///< number of steps at the last check of the clock
  const Clock::time_point began_ = Clock::now();
  const bool was_interrupted_ = interrupted();  ///< then the run ends, and the walk completes
  Status stopped_;                              ///< reason to stop the walk at once
  std::vector<std::size_t> order_;              ///< axis of each level
  std::vector<std::uint64_t> weights_;          ///< weight of each level's axis in a code
  /// For each level, the earlier levels that determine the number of raw points below it, and the
  /// counts cached by the codes of their positions.
  std::vector<std::vector<std::size_t>> count_levels_;
  std::vector<std::unordered_map<std::uint64_t, std::uint64_t>> counts_;
  std::vector<std::vector<LevelRule>> levels_;  ///< rules whose last axis is at this level
  Enumeration found_;
};

/// Orders the axes so that the rule with the fewest combinations completes first: cuts fall near
/// the root.
void Walker::choose_order() {
  order_.resize(sizes_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (product_ <= kOwnOrderUpTo) return;
  std::vector<bool> placed(sizes_.size(), false);
  std::vector<bool> done(rules_.size(), false);
  std::vector<std::size_t> order;
  const auto cost = [&](std::size_t r) {
    double product = 1;
    for (const std::size_t axis : rules_[r].axes()) {
      if (!placed[axis]) product *= static_cast<double>(sizes_[axis]);
    }
    return product;
  };
  for (std::size_t turn = 0; turn < rules_.size(); ++turn) {
    std::size_t best = rules_.size();
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      if (!done[r] && (best == rules_.size() || cost(r) < cost(best))) best = r;
    }
    done[best] = true;
    for (const std::size_t axis : rules_[best].axes()) {
      if (!placed[axis]) order.push_back(axis);
      placed[axis] = true;
    }
  }
  for (const std::size_t axis : order_) {
    if (!placed[axis]) order.push_back(axis);
  }
  order_ = std::move(order);
}

void Walker::prepare_levels() {
  const std::size_t depth = order_.size();
  std::vector<std::uint64_t> code_weights(depth, 1);
  for (std::size_t axis = depth; axis-- > 1;) {
    code_weights[axis - 1] = code_weights[axis] * sizes_[axis];
  }
  weights_.resize(depth);
  levels_.resize(depth);
  std::vector<std::size_t> level_of(depth);
  for (std::size_t level = depth; level-- > 0;) {
    const std::size_t axis = order_[level];
    level_of[axis] = level;
    weights_[level] = code_weights[axis];
  }
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    const std::vector<std::size_t>& axes = rules_[r].axes();
    if (axes.empty()) continue;
    LevelRule entry;
    entry.rule = r;
    entry.is_choice = rules_[r].is_choice();
    std::size_t last = 0;
    std::uint64_t combinations = 1;
    for (const std::size_t axis : axes) {
      entry.weights.push_back(combinations);
      combinations *= sizes_[axis];
      if (level_of[axis] < last) continue;
      last = level_of[axis];
      entry.stride = entry.weights.back();
    }
    if (combinations <= kMaxTable) entry.table.assign(combinations, Verdict::kUnknown);
    levels_[last].push_back(std::move(entry));
  }
  counts_.resize(depth + 1);
  count_levels_.resize(depth + 1);
  for (std::size_t level = depth; level-- > 0;) {
    std::set<std::size_t> above(count_levels_[level + 1].begin(), count_levels_[level + 1].end());
    for (const LevelRule& entry : levels_[level]) {
      if (!entry.is_choice) continue;
      for (const std::size_t axis : rules_[entry.rule].axes()) above.insert(level_of[axis]);
    }
    above.erase(level);
    count_levels_[level].assign(above.begin(), above.end());
  }
}

/// Counts steps; checks the clock and interrupts at intervals.
bool Walker::must_stop(std::uint64_t steps) {
  found_.steps += steps;
  if (found_.steps - looked_at_ < kStepsPerLook) return !stopped_;
  looked_at_ = found_.steps;
  if (interrupted() && !was_interrupted_) stopped_ = Error{ErrorKind::kInterrupted, "interrupted"};
  if (Clock::now() - began_ > kMostTime) {
    stopped_ = usage_error(
        fmt::format("not done within {} s; fix a parameter, shorten a list of values, or add a "
                    "constraint on few parameters",
                    kMostTime.count()));
  }
  return !stopped_;
}

/// Computes each rule's table index from the levels above.
void Walker::enter(std::size_t level) {
  positions_[order_[level]] = 0;
  for (LevelRule& entry : levels_[level]) {
    entry.base = 0;
    const std::vector<std::size_t>& axes = rules_[entry.rule].axes();
    for (std::size_t i = 0; i < axes.size(); ++i) {
      entry.base += entry.weights[i] * positions_[axes[i]];
    }
  }
}

/// Counts the raw points with the present positions above the level. A 'when' that cannot be
/// evaluated leaves its parameter a choice here; the walk reports it where it matters.
std::uint64_t Walker::raw_below(std::size_t level) {
  if (level == order_.size()) return 1;
  std::uint64_t key = 0;
  for (const std::size_t above : count_levels_[level])
    key += weights_[above] * positions_[order_[above]];
  const auto known = counts_[level].find(key);
  if (known != counts_[level].end()) return known->second;
  const std::size_t axis = order_[level];
  std::uint64_t count = 0;
  if (must_stop(sizes_[axis])) return 0;
  enter(level);
  for (std::size_t value = 0; value < sizes_[axis]; ++value) {
    const auto position = static_cast<std::uint16_t>(value);
    positions_[axis] = position;
    const bool broken =
        std::any_of(levels_[level].begin(), levels_[level].end(), [&](LevelRule& entry) {
          return entry.is_choice && ask(entry, position) == Verdict::kBroken;
        });
    if (!broken) count += raw_below(level + 1);
  }
  counts_[level].emplace(key, count);
  return count;
}

/// Tries every value of the level's axis; `code` is the sum of the levels above.
Status Walker::walk(std::size_t level, std::uint64_t code) {
  if (level == order_.size()) {
    if (found_.codes.size() >= limit_) found_.too_large = true;
    if (!found_.too_large) found_.codes.push_back(code);
    return {};
  }
  const std::size_t axis = order_[level];
  const std::uint64_t weight = weights_[level];
  enter(level);
  if (must_stop(sizes_[axis])) return stopped_;
  if (found_.steps > kMaxSteps) found_.too_large = true;
  for (std::size_t value = 0; value < sizes_[axis] && !found_.too_large; ++value) {
    const auto position = static_cast<std::uint16_t>(value);
    positions_[axis] = position;
    FATUNE_TRY(const bool passed, passes(level, position));
    if (!passed) continue;
    FATUNE_TRY_STATUS(walk(level + 1, code + weight * position));
  }
  return {};
}

Result<bool> Walker::passes(std::size_t level, std::uint16_t position) {
  for (LevelRule& entry : levels_[level]) {
    const Verdict verdict = ask(entry, position);
    if (verdict == Verdict::kHolds) continue;
    if (verdict == Verdict::kBroken) {
      if (!entry.is_choice) found_.excluded[entry.rule] += raw_below(level + 1);
    } else {
      FATUNE_TRY_STATUS(settle_one_by_one(level + 1));
    }
    return false;
  }
  return true;
}

Verdict Walker::ask(LevelRule& level_rule, std::uint16_t position) {
  Verdict* kept = level_rule.table.empty()
                      ? nullptr
                      : &level_rule.table[level_rule.base + level_rule.stride * position];
  if (kept != nullptr && *kept != Verdict::kUnknown) return *kept;
  const Result<bool> holds = rules_[level_rule.rule].holds(positions_);
  const Verdict verdict =
      !holds ? Verdict::kUndefined : (*holds ? Verdict::kHolds : Verdict::kBroken);
  if (kept != nullptr) *kept = verdict;
  return verdict;
}

/// Handles an undefined rule. An undefined rule is an error only at points that no earlier rule
/// excludes. An earlier rule may depend on deeper axes, so each point of the subtree is checked.
Status Walker::settle_one_by_one(std::size_t level) {
  if (level == order_.size()) return settle_point();
  if (must_stop(sizes_[order_[level]])) return stopped_;
  for (std::size_t value = 0; value < sizes_[order_[level]]; ++value) {
    positions_[order_[level]] = static_cast<std::uint16_t>(value);
    FATUNE_TRY_STATUS(settle_one_by_one(level + 1));
  }
  return {};
}

Status Walker::settle_point() {
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    const Result<bool> holds = rules_[r].holds(positions_);
    if (!holds) {
      Error error = holds.error();
      error.message += ", in the config " + describe_point_(positions_);
      return error;
    }
    if (*holds) continue;
    if (!rules_[r].is_choice()) ++found_.excluded[r];
    return {};
  }
  FATUNE_CHECK(false, "a point is settled alone only if one of its rules is undefined");
  return {};
}

}  // namespace

Result<Enumeration> enumerate(std::span<const std::size_t> sizes, std::span<CompiledRule> rules,
                              std::uint64_t limit, const DescribePoint& describe_point) {
  return Walker(sizes, rules, limit, describe_point).run();
}

}  // namespace fatune
