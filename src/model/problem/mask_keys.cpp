// mask_keys.cpp: Finds and counts the keys that queries see.
#include <algorithm>
#include <cstdint>

#include "model/problem/mask.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/rule_keys.hpp"

namespace fatune {
namespace {

/// Sums i + from, but at least `least` and at most `most`, over i = 0 ... count - 1.
double sum_of_clamped(double count, double from, double least, double most) {
  const double below = std::clamp(least - from, 0.0, count);
  const double inside = std::clamp(most - from, 0.0, count) - below;
  return below * least + inside * (from + below) + inside * (inside - 1) / 2 +
         (count - below - inside) * most;
}

}  // namespace

/// Returns the keys that the lengths leave to a row.
static KeyRange keys_of_lengths(const Attention& problem, std::int64_t batch, std::int64_t row) {
  const Lengths& lengths = problem.mask.lengths;
  if (lengths.kind == LengthsKind::kNone) return {0, problem.seq_kv};
  if (lengths.kind == LengthsKind::kRight) return {0, lengths.of(batch)};
  if (lengths.kind == LengthsKind::kLeft)
    return {problem.seq_kv - lengths.of(batch), problem.seq_kv};
  KeyRange document;
  for (const std::int64_t each : lengths.numbers) {
    document = {document.end, document.end + each};
    if (row < document.end) break;
  }
  return document;
}

KeyRange visible_keys(const Attention& problem, std::int64_t batch, std::int64_t row) {
  const MaskSizes sizes = mask_sizes(problem);
  const std::int64_t position = row + sizes.diagonal;
  const KeyRange left = keys_of_lengths(problem, batch, row);
  KeyRange range = left;
  if (sizes.keys_after >= 0) {
    const std::int64_t least = std::max(left.begin, problem.mask.prefix);
    range.end = std::clamp(position + sizes.keys_after + 1, least, left.end);
  }
  if (sizes.keys_before >= 0)
    range.begin = std::clamp(position - sizes.keys_before, left.begin, left.end);
  return range;
}

KeyRange seeing_rows(const Attention& problem, std::int64_t batch) {
  const std::int64_t rows = problem.seq_q;
  if (problem.mask.lengths.kind == LengthsKind::kDocuments) return {0, rows};
  const MaskSizes sizes = mask_sizes(problem);
  const KeyRange left = keys_of_lengths(problem, batch, 0);
  if (left.count() == 0) return {};
  KeyRange seeing{0, rows};
  if (sizes.keys_after >= 0 && problem.mask.prefix == 0)
    seeing.begin =
        std::clamp<std::int64_t>(left.begin - sizes.diagonal - sizes.keys_after, 0, rows);
  if (sizes.keys_before >= 0)
    seeing.end = std::clamp<std::int64_t>(left.end - sizes.diagonal + sizes.keys_before, 0, rows);
  return seeing;
}

/// The mean of a number over the batch, where lengths make its entries differ.
template <typename Number>
static double mean_over_batch(const Attention& problem, const Number& number) {
  if (!problem.mask.lengths.repeats()) return number(0);
  double sum = 0;
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) sum += number(batch);
  return sum / static_cast<double>(problem.batch);
}

double unseeing_rows(const Attention& problem) {
  if (!problem.mask.rule.empty()) return RuleCounts::of(problem).unseeing_rows;
  return mean_over_batch(problem, [&](std::int64_t batch) {
    return static_cast<double>(problem.seq_q - seeing_rows(problem, batch).count());
  });
}

double seen_keys(const Attention& problem) {
  if (!problem.mask.rule.empty()) return RuleCounts::of(problem).seen_keys;
  return mean_over_batch(problem, [&](std::int64_t batch) {
    const KeyRange rows = seeing_rows(problem, batch);
    if (rows.count() == 0) return 0.0;
    return static_cast<double>(visible_keys(problem, batch, rows.end - 1).end -
                               visible_keys(problem, batch, rows.begin).begin);
  });
}

/// The pairs of these rows and keys that the mask without its lengths does not hide.
static double pairs_within(const Attention& problem, const KeyRange& rows, const KeyRange& keys) {
  const MaskSizes sizes = mask_sizes(problem);
  const auto count = static_cast<double>(rows.count());
  const auto sum = [&](std::int64_t from, std::int64_t least) {
    return sum_of_clamped(count, static_cast<double>(rows.begin + sizes.diagonal + from),
                          static_cast<double>(least), static_cast<double>(keys.end));
  };
  const double ends = sizes.keys_after < 0
                          ? count * static_cast<double>(keys.end)
                          : sum(sizes.keys_after + 1, std::max(keys.begin, problem.mask.prefix));
  return ends - (sizes.keys_before < 0 ? count * static_cast<double>(keys.begin)
                                       : sum(-sizes.keys_before, keys.begin));
}

double visible_pairs(const Attention& problem) {
  if (!problem.mask.rule.empty()) return RuleCounts::of(problem).pairs;
  const Lengths& lengths = problem.mask.lengths;
  if (lengths.kind != LengthsKind::kDocuments) {
    return mean_over_batch(problem, [&](std::int64_t batch) {
      return pairs_within(problem, {0, problem.seq_q}, keys_of_lengths(problem, batch, 0));
    });
  }
  double pairs = 0;
  KeyRange document;
  for (const std::int64_t each : lengths.numbers) {
    document = {document.end, document.end + each};
    pairs += pairs_within(problem, document, document);
  }
  return pairs;
}

}  // namespace fatune
