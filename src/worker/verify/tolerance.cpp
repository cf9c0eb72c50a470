// tolerance.cpp: Makes limits from the low-precision reference's errors, and judges by them.
#include "worker/verify/tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.hpp"

namespace fatune {
namespace {

/// Chosen: enough samples to meet the largest magnitudes, whose rounding step decides.
constexpr std::size_t kQuantumSamples = 1'000'000;
constexpr double kFp8L2Factor = 1.5;       // chosen: times relative_l2
constexpr double kMethodFactor = 1.25;     // chosen: another order of sums, in the method's error
constexpr std::size_t kQuantumParts = 64;  // chosen: a piece of samples for every thread
/// Chosen: another order of its sums may cost an fp32 output this much of its 24 bits.
constexpr double kSingleL2 = 1e-5;
constexpr double kSingleStep = 1.0 / (1 << 20);
constexpr double kDoubleShare = 0x1p-29;  // f64 limits over fp32 limits: 53 bits, not 24

double quantum_at(Dtype dtype, float value) {
  const auto table = decode_table(dtype);
  const auto element = [&](float x) { return table[encode(dtype, x)]; };
  const float rounded = element(value);
  const float up = element(rounded + 0.3f);
  const float back = element(up - 0.3f);
  return 2.0 * std::abs(static_cast<double>(back) - rounded);
}

/// 2 * max|((ref + 0.3) - 0.3) - ref| in the output's element type, among samples of the values.
double quantum_of(Dtype dtype, const TensorReference& reference) {
  const std::vector<float>& values = reference.values;
  const std::size_t stride = values.size() / kQuantumSamples + 1;
  const std::size_t samples = (values.size() + stride - 1) / stride;
  std::vector<double> largest(kQuantumParts,
                              quantum_at(dtype, static_cast<float>(reference.extreme)));
  parallel_for(kQuantumParts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      for (std::size_t i = part; i < samples; i += kQuantumParts)
        largest[part] = std::max(largest[part], quantum_at(dtype, values[i * stride]));
    }
  });
  return *std::max_element(largest.begin(), largest.end());
}

/// Returns the factor on an fp32 output's fixed limits.
double share_of(const TensorPlan& tensor) { return tensor.is(PlainType::kF64) ? kDoubleShare : 1; }

/// The distance from the largest magnitude to the next element upwards.
double step_at(const TensorPlan& tensor, double magnitude) {
  if (!tensor.type) return kSingleStep * share_of(tensor) * magnitude;
  const std::uint16_t element = encode(*tensor.type, static_cast<float>(magnitude));
  const double above = decode(*tensor.type, static_cast<std::uint16_t>(element + 1));
  const double below = decode(*tensor.type, static_cast<std::uint16_t>(element - 1));
  const double here = decode(*tensor.type, element);
  return std::isfinite(above) ? above - here : here - below;
}

std::string block_text(const TensorPlan& tensor, std::int64_t block) {
  const std::int64_t first = block % blocks_per_head(tensor) * kBlockRows;
  const std::string rows =
      fmt::format("rows {} to {}", first, std::min(first + kBlockRows, tensor.part_rows()) - 1);
  if (tensor.axes.empty()) return fmt::format("{} of {}", rows, tensor.name);
  return fmt::format("{}, {}", describe_head(tensor, block / blocks_per_head(tensor)), rows);
}

/// Judges by the declared tolerance alone, or by limits of each kind.
Judgement judge_values(const TensorReference& reference, const Comparison& comparison) {
  const TensorPlan& tensor = reference.tensor;
  const Limits& limits = reference.limits;
  Judgement worst;
  // Keeps the rule with the largest margin.
  const auto consider = [&worst](std::string_view rule, double value, double limit,
                                 const std::string& where) {
    const double margin = ratio(value, limit);
    if (!worst.worst_rule.empty() && margin <= worst.margin) return;
    worst = {margin <= 1, margin, std::string(rule), ""};
    if (!worst.passed)
      worst.reason = fmt::format("{}: {:.3g}, limit {:.3g} ({})", rule, value, limit, where);
  };
  if (reference.tolerance) {
    consider("tolerance", comparison.worst_excess, 1,
             "of what is declared, at " + describe_place(tensor, comparison.worst_excess_at));
    return worst;
  }
  const std::string all = "over all " + (tensor.noun.empty() ? "of " + tensor.name : tensor.noun);
  consider("max", comparison.unexplained, limits.max_abs,
           describe_place(tensor, comparison.unexplained_at));
  consider("mean", comparison.mean_abs, limits.mean_abs, all);
  if (limits.relative_l2) consider("relative_l2", comparison.relative_l2, *limits.relative_l2, all);
  if (limits.head_l2) {
    consider("head_l2", comparison.worst_head_l2, *limits.head_l2,
             describe_head(tensor, comparison.worst_head));
  }
  if (limits.block_l2) {
    consider("block_l2", comparison.worst_block_l2, *limits.block_l2,
             block_text(tensor, comparison.worst_block));
  }
  if (limits.method_l2 && comparison.method_l2)
    consider("method", *comparison.method_l2, *limits.method_l2, all);
  return worst;
}

/// Whether one key can have most of a row's weight.
bool single_keys_decide(Distribution distribution) {
  return distribution == Distribution::kOutliers || distribution == Distribution::kLargeLogits;
}

}  // namespace

ToleranceFactors tolerance_factors(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16:
      return {2, 1.5, 2e-3, 2};
    case Dtype::kBf16:
      return {2, 1.5, 1e-2, 2};
    case Dtype::kE4m3:
      return {4, 3, 6e-2, 2, 6e-2};
    case Dtype::kE5m2:
      return {4, 3, 1.2e-1, 2, 1.2e-1};
  }
  return {};
}

double step_at_one(Dtype dtype) {
  const std::uint16_t one = encode(dtype, 1.0f);
  return static_cast<double>(decode(dtype, static_cast<std::uint16_t>(one + 1))) - 1.0;
}

bool bounds_rounding(const Problem& problem, Distribution distribution) {
  return problem.attention() && single_keys_decide(distribution);
}

std::vector<float> rounding_of(const Attention& problem, std::vector<float> magnitudes) {
  const double step = (step_at_one(problem.dtype) + step_at_one(out_dtype(problem))) / 2;
  for (float& each : magnitudes) each = static_cast<float>(step * each);
  return magnitudes;
}

Limits attention_limits(const TensorReference& reference, const Comparison& low_precision,
                        Distribution distribution, const Attention& problem) {
  const Dtype out = *reference.tensor.type;
  const bool fp8 = is_fp8(problem);
  const ToleranceFactors factors = tolerance_factors(problem.dtype);
  Limits limits;
  limits.max_abs = factors.max_factor * low_precision.max_abs + quantum_of(out, reference);
  limits.mean_abs = factors.mean_factor * low_precision.mean_abs + 1e-6;
  if (!single_keys_decide(distribution)) {
    // The low-precision reference of fp8 shows the cost of rounding P better than one number would.
    double l2 = !fp8 ? factors.relative_l2
                     : std::max(tolerance_factors(out).relative_l2,
                                kFp8L2Factor * low_precision.relative_l2);
    if (is_fused(problem) && distribution == Distribution::kNormal)
      l2 = std::max(factors.method_l2, kMethodFactor * low_precision.relative_l2);
    limits.relative_l2 = l2;
    limits.head_l2 = limits.block_l2 = l2 * factors.part_factor;
  }
  if (distribution == Distribution::kOnesV && !fp8) {
    // The low-precision reference may hit 1 exactly. A mean of such errors says nothing.
    limits.max_abs = std::max(2 * step_at_one(out) * reference.largest, low_precision.max_abs);
    limits.mean_abs = limits.max_abs;
  }
  if (distribution == Distribution::kNormal && has_descales(problem)) {
    limits.method_l2 =
        std::max(factors.method_l2, kMethodFactor * low_precision.method_l2.value_or(0));
  }
  return limits;
}

Limits declared_limits(const TensorReference& reference, const Comparison& low_precision,
                       Dtype io) {
  const ToleranceFactors factors = tolerance_factors(reference.tensor.type.value_or(io));
  const double share = share_of(reference.tensor);
  const double least_l2 = reference.tensor.type ? factors.relative_l2 : kSingleL2 * share;
  Limits limits;
  limits.max_abs =
      factors.max_factor * low_precision.max_abs + step_at(reference.tensor, reference.largest);
  limits.mean_abs =
      factors.mean_factor * low_precision.mean_abs + kSingleStep * share * reference.mean;
  limits.relative_l2 = std::max(least_l2, factors.mean_factor * low_precision.relative_l2);
  limits.block_l2 =
      std::max(factors.part_factor * least_l2, factors.mean_factor * low_precision.worst_block_l2);
  return limits;
}

Judgement judge(const TensorReference& reference, const Comparison& comparison) {
  const TensorPlan& tensor = reference.tensor;
  if (comparison.unequal > 0) {
    return {
        false, kWorstMargin, "equal",
        fmt::format("equal: {} of {} {} differ from the reference's, first {}", comparison.unequal,
                    tensor.elements(), describe_elements(tensor), comparison.first_unequal)};
  }
  if (!reference.exact.empty()) return {true, 0, "equal", ""};
  if (comparison.not_finite > 0) {
    return {
        false, kWorstMargin, "finite",
        fmt::format("finite: {} of {} {} are NaN or infinite, first {}{}", comparison.not_finite,
                    tensor.elements(), describe_elements(tensor), tensor.axes.empty() ? "" : "at ",
                    describe_place(tensor, comparison.first_not_finite))};
  }
  if (comparison.masked_not_zero > 0) {
    return {false, kWorstMargin, "masked_rows",
            fmt::format("masked_rows: {} {} of rows that see no key are not 0, first at {}",
                        comparison.masked_not_zero, describe_elements(tensor),
                        describe_place(tensor, comparison.first_masked_not_zero))};
  }
  Judgement worst = judge_values(reference, comparison);
  if (!worst.passed || comparison.wrongly_finite == 0) return worst;
  return {
      false, kWorstMargin, "not_finite",
      fmt::format("not_finite: {} {} are numbers, though an input that they depend on is NaN or "
                  "infinite, first at {}",
                  comparison.wrongly_finite, describe_elements(tensor),
                  describe_place(tensor, comparison.first_wrongly_finite))};
}

double vacuity_margin(const TensorReference& reference) {
  if (!reference.exact.empty()) return kWorstMargin;  // zeros differ, unless they are right
  if (reference.tolerance)
    return ratio(reference.largest, allowed(*reference.tolerance, reference.largest));
  const Limits& limits = reference.limits;
  double margin =
      std::max(ratio(reference.largest, limits.max_abs), ratio(reference.mean, limits.mean_abs));
  if (limits.relative_l2) margin = std::max(margin, ratio(1, *limits.relative_l2));
  return margin;
}

}  // namespace fatune
