// tolerance.cpp - error figures and the twin's error to limits, margins and a verdict.
#include "worker/verify/tolerance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace fatune {
namespace {

constexpr std::array kRules = {
    ToleranceRule{"finite", "no NaN and no infinity",
                  "inputs are finite, so every output is; a NaN may also be poison that was read"},
    ToleranceRule{"masked_rows", "a row that sees no key is exactly 0",
                  "its softmax has no terms; 0 is what the reference and the libraries return"},
    ToleranceRule{"max", "max|out-ref| <= m * max|twin-ref| + quantum; m is 2, fp8 4",
                  "the twin rounds S, P and O to the element type as a fused kernel may, so its "
                  "worst error is what "
                  "this arithmetic costs on these inputs; twice that leaves room for another order "
                  "of sums. quantum = "
                  "2 max|((ref+0.3)-0.3)-ref| is one rounding step of the output (the rule of "
                  "FlashAttention's tests)"},
    ToleranceRule{"max_of_ones",
                  "for values that are all 1: max|out-1| <= 2 units in the last place",
                  "whatever the scores, weights that sum to 1 give 1; where rounding costs the "
                  "twin more, its error counts"},
    ToleranceRule{"mean", "mean|out-ref| <= k * mean|twin-ref| + 1e-6; k is 1.5, fp8 3",
                  "catches an error that is small but everywhere, such as sums kept in fp16, which "
                  "max lets through"},
    ToleranceRule{
        "relative_l2", "|out-ref| / |ref| <= 2e-3 f16, 1e-2 bf16, 6e-2 e4m3, 1.2e-1 e5m2 (2-norms)",
        "outputs shrink as sqrt(e/S): against an absolute bound zeros would pass at long "
        "sequences. The "
        "values are some 4 roundings of the type (f16 2^-11, bf16 2^-8, e4m3 2^-4, e5m2 2^-3)"},
    ToleranceRule{"head_l2", "the same for every head, with twice the limit",
                  "a single wrong head must not be averaged away"},
    ToleranceRule{"block_l2", "the same for every 64 rows of a head, with twice the limit",
                  "a single wrong tile must not be averaged away"},
    ToleranceRule{
        "vacuity",
        "an output of zeros misses one of the limits at least 4 times over, or v is doubled",
        "limits that zeros can meet prove nothing; doubling is exact and leaves the mantissas as "
        "they are"},
    ToleranceRule{
        "lse",
        "with lse: |lse-ref| <= 2^-22 (d+8) |q| max|k| / sqrt(d) + 2^-24 n + r in every row that "
        "sees n keys, -inf exactly where n is 0; r is 2^-11 f16, 2^-8 bf16, 2^-4 e4m3, 2^-3 e5m2",
        "it moves no more than the score that moves most, and a score is a sum of d exact products "
        "in fp32, each addition off by 2^-23 of |q||k| at most, here and in the reference; a sum "
        "of "
        "n positive terms is off by n 2^-24 of itself; r is one rounding of the weights, which "
        "whoever computes them again from the log-sum-exp rounds as well"},
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// The unit in the last place of 1: from there to the next element upwards.
double step_at_one(Dtype dtype) {
  const std::uint16_t one = encode(dtype, 1.0f);
  return static_cast<double>(decode(dtype, static_cast<std::uint16_t>(one + 1))) - 1.0;
}

double ratio(double value, double limit) {
  if (value == 0) return 0;
  if (!(limit > 0) || !std::isfinite(value)) return kWorstMargin;
  return std::min(value / limit, kWorstMargin);
}

std::string head_text(const Problem& problem, std::int64_t head) {
  return "batch " + std::to_string(head / problem.heads) + ", head " +
         std::to_string(head % problem.heads);
}

std::string block_text(const Problem& problem, std::int64_t block) {
  const std::int64_t first = block % blocks_per_head(problem) * kBlockRows;
  return head_text(problem, block / blocks_per_head(problem)) + ", rows " + std::to_string(first) +
         " to " + std::to_string(std::min(first + kBlockRows, problem.seq_q) - 1);
}

/// Keeps the rule that is nearest to its limit, or furthest beyond.
class Worst {
 public:
  void consider(std::string_view rule, double value, double limit, const std::string& where) {
    const double margin = ratio(value, limit);
    if (!judgement_.worst_rule.empty() && margin <= judgement_.margin) return;
    judgement_.margin = margin;
    judgement_.worst_rule = rule;
    judgement_.reason =
        std::string(rule) + ": " + number(value) + ", limit " + number(limit) + " (" + where + ")";
  }
  Judgement finish() {
    judgement_.passed = judgement_.margin <= 1;
    if (judgement_.passed) judgement_.reason.clear();
    return judgement_;
  }

 private:
  Judgement judgement_;
};

}  // namespace

std::span<const ToleranceRule> tolerance_rules() { return kRules; }

ToleranceFactors tolerance_factors(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16:
      return {2, 1.5, 2e-3, 2};
    case Dtype::kBf16:
      return {2, 1.5, 1e-2, 2};
    case Dtype::kE4m3:
      return {4, 3, 6e-2, 2};
    case Dtype::kE5m2:
      return {4, 3, 1.2e-1, 2};
  }
  return {};
}

Limits make_limits(const ReferenceOutput& reference, const Comparison& twin,
                   Distribution distribution) {
  const ToleranceFactors factors = tolerance_factors(reference.problem.dtype);
  Limits limits;
  limits.max_abs = factors.max_factor * twin.max_abs + reference.quantum;
  limits.mean_abs = factors.mean_factor * twin.mean_abs + 1e-6;
  const bool dominated =
      distribution == Distribution::kOutliers || distribution == Distribution::kLargeLogits;
  if (!dominated) {
    limits.relative_l2 = factors.relative_l2;
    limits.part_l2 = factors.relative_l2 * factors.part_factor;
  }
  if (distribution == Distribution::kOnesV) {
    // The twin may hit 1 exactly; a mean of such errors says nothing.
    limits.max_abs =
        std::max(2 * step_at_one(reference.problem.dtype) * reference.largest, twin.max_abs);
    limits.mean_abs = limits.max_abs;
  }
  return limits;
}

Judgement judge(const Problem& problem, const Comparison& comparison, const Limits& limits) {
  Judgement failed{false, kWorstMargin, "", ""};
  if (comparison.not_finite > 0) {
    failed.worst_rule = "finite";
    failed.reason = "finite: " + std::to_string(comparison.not_finite) + " of " +
                    std::to_string(problem.query_elements()) +
                    " outputs are NaN or infinite, first at " +
                    describe(comparison.first_not_finite);
    return failed;
  }
  if (comparison.masked_not_zero > 0) {
    failed.worst_rule = "masked_rows";
    failed.reason = "masked_rows: " + std::to_string(comparison.masked_not_zero) +
                    " outputs of rows that see no key are not 0, first at " +
                    describe(comparison.first_masked_not_zero);
    return failed;
  }
  Worst worst;
  worst.consider("max", comparison.max_abs, limits.max_abs, describe(comparison.worst));
  worst.consider("mean", comparison.mean_abs, limits.mean_abs, "over all outputs");
  if (limits.relative_l2) {
    worst.consider("relative_l2", comparison.relative_l2, *limits.relative_l2, "over all outputs");
  }
  if (limits.part_l2) {
    worst.consider("head_l2", comparison.worst_head_l2, *limits.part_l2,
                   head_text(problem, comparison.worst_head));
    worst.consider("block_l2", comparison.worst_block_l2, *limits.part_l2,
                   block_text(problem, comparison.worst_block));
  }
  return worst.finish();
}

double vacuity_margin(const ReferenceOutput& reference, const Limits& limits) {
  double margin =
      std::max(ratio(reference.largest, limits.max_abs), ratio(reference.mean, limits.mean_abs));
  if (limits.relative_l2) margin = std::max(margin, 1 / *limits.relative_l2);
  return margin;
}

}  // namespace fatune
