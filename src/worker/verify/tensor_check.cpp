// tensor_check.cpp - one pass over an output beside its reference, block by block, and the rules.
#include "worker/verify/tensor_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "worker/verify/compare.hpp"

namespace fatune {
namespace {

constexpr std::size_t kBlocksOfAThread = 32;  // chosen: some 100 us of work
/// An fp32 output has 24 bits; what other orders of its sums may cost, chosen.
constexpr double kSingleL2 = 1e-5;
constexpr double kSingleStep = 1.0 / (1 << 20);

float element_at(const TensorPlan& tensor, std::span<const std::byte> out, std::int64_t at) {
  const std::byte* from = out.data() + static_cast<std::size_t>(at) * tensor.width();
  if (!tensor.type) {
    float value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  std::uint16_t element = 0;
  std::memcpy(&element, from, tensor.width());
  return decode_table(*tensor.type)[element];
}

std::int64_t block_elements(const TensorPlan& tensor) { return kBlockRows * tensor.columns(); }

std::int64_t blocks_of(const TensorPlan& tensor) {
  return (tensor.elements() + block_elements(tensor) - 1) / block_elements(tensor);
}

/// Calls `work` with each block, its first element and their number, on several threads.
template <typename Work>
void for_each_block(const TensorPlan& tensor, const Work& work) {
  const auto piece = [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const std::int64_t first = static_cast<std::int64_t>(block) * block_elements(tensor);
      work(block, first, std::min(block_elements(tensor), tensor.elements() - first));
    }
  };
  parallel_for(static_cast<std::size_t>(blocks_of(tensor)), kBlocksOfAThread, piece);
}

/// Norm of an error over the norm of what is right; a reference of zeros allows no error at all.
double relative(double error_squares, double reference_squares) {
  if (error_squares == 0) return 0;
  if (reference_squares == 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(error_squares / reference_squares);
}

double ratio(double value, double limit) {
  if (value == 0) return 0;
  if (!(limit > 0) || !std::isfinite(value)) return kWorstMargin;
  return std::min(value / limit, kWorstMargin);
}

double allowed(const DeclaredTolerance& tolerance, double reference) {
  return tolerance.absolute + tolerance.relative * std::abs(reference);
}

/// Sums and extremes of one block.
struct BlockErrors {
  TensorErrors errors;
  double squares = 0, absolute = 0;
};

BlockErrors scan(const TensorReference& reference, std::span<const std::byte> out,
                 std::int64_t first, std::int64_t count) {
  BlockErrors block;
  TensorErrors& errors = block.errors;
  for (std::int64_t at = first; at < first + count; ++at) {
    const double right = reference.values[static_cast<std::size_t>(at)];
    const double error = std::abs(element_at(reference.tensor, out, at) - right);
    if (!std::isfinite(error)) {
      if (errors.not_finite++ == 0) errors.first_not_finite = at;
      continue;
    }
    if (error > errors.max_abs) {
      errors.max_abs = error;
      errors.worst = at;
    }
    if (reference.tolerance) {
      const double excess = ratio(error, allowed(*reference.tolerance, right));
      if (excess > errors.worst_excess) {
        errors.worst_excess = excess;
        errors.worst_excess_at = at;
      }
    }
    block.absolute += error;
    block.squares += error * error;
    if (error > 1e-3 + 1e-3 * std::abs(right)) errors.allclose_1e3 = false;
  }
  return block;
}

/// Adds a block's findings to those of the blocks before it.
void merge(const TensorErrors& block, TensorErrors& all) {
  if (block.not_finite > 0 && all.not_finite == 0) all.first_not_finite = block.first_not_finite;
  all.not_finite += block.not_finite;
  if (block.max_abs > all.max_abs) {
    all.max_abs = block.max_abs;
    all.worst = block.worst;
  }
  if (block.worst_excess > all.worst_excess) {
    all.worst_excess = block.worst_excess;
    all.worst_excess_at = block.worst_excess_at;
  }
  all.allclose_1e3 = all.allclose_1e3 && block.allclose_1e3 && block.not_finite == 0;
}

/// From the largest magnitude to the next element upwards.
double step_at(const TensorPlan& tensor, double magnitude) {
  if (!tensor.type) return kSingleStep * magnitude;
  const std::uint16_t element = encode(*tensor.type, static_cast<float>(magnitude));
  const double above = decode(*tensor.type, static_cast<std::uint16_t>(element + 1));
  const double below = decode(*tensor.type, static_cast<std::uint16_t>(element - 1));
  const double here = decode(*tensor.type, element);
  return std::isfinite(above) ? above - here : here - below;
}

std::string rows_text(const TensorPlan& tensor, std::int64_t block) {
  const std::int64_t first = block * kBlockRows;
  const std::int64_t rows = tensor.elements() / tensor.columns();
  return fmt::format("rows {} to {} of {}", first, std::min(first + kBlockRows, rows) - 1,
                     tensor.name);
}

struct Rule {
  const char* name;
  double value, limit;
  std::string where;
};

Judgement worst_of(const std::vector<Rule>& rules) {
  Judgement judgement;
  for (const Rule& rule : rules) {
    const double margin = ratio(rule.value, rule.limit);
    if (!judgement.worst_rule.empty() && margin <= judgement.margin) continue;
    judgement.margin = margin;
    judgement.worst_rule = rule.name;
    judgement.reason =
        fmt::format("{}: {:.3g}, limit {:.3g} ({})", rule.name, rule.value, rule.limit, rule.where);
  }
  judgement.passed = judgement.margin <= 1;
  if (judgement.passed) judgement.reason.clear();
  return judgement;
}

}  // namespace

Result<TensorReference> make_tensor_reference(const TensorPlan& tensor, std::vector<float> values,
                                              std::optional<DeclaredTolerance> tolerance) {
  FATUNE_CHECK(static_cast<std::int64_t>(values.size()) == tensor.elements(),
               "one value for each element");
  TensorReference reference{tensor, std::move(values), {}, 0, 0, std::move(tolerance), {}};
  const auto wrong = std::find_if(reference.values.begin(), reference.values.end(),
                                  [](float value) { return !std::isfinite(value); });
  if (wrong != reference.values.end()) {
    return device_error(fmt::format("the reference leaves {} unwritten, or it is not finite there",
                                    describe_place(tensor, wrong - reference.values.begin())));
  }
  reference.block_squares.resize(static_cast<std::size_t>(blocks_of(tensor)));
  double sum = 0;
  for (std::size_t at = 0; at < reference.values.size(); ++at) {
    const double value = std::abs(static_cast<double>(reference.values[at]));
    const auto block =
        static_cast<std::size_t>(static_cast<std::int64_t>(at) / block_elements(tensor));
    reference.block_squares[block] += value * value;
    reference.largest = std::max(reference.largest, value);
    sum += value;
  }
  reference.mean = sum / static_cast<double>(reference.values.size());
  return reference;
}

TensorErrors compare_tensor(const TensorReference& reference, std::span<const std::byte> out) {
  FATUNE_CHECK(out.size() == reference.tensor.bytes(), "an output as large as the reference");
  std::vector<BlockErrors> blocks(reference.block_squares.size());
  for_each_block(reference.tensor, [&](std::size_t block, std::int64_t first, std::int64_t count) {
    blocks[block] = scan(reference, out, first, count);
  });
  TensorErrors all;
  double squares = 0, reference_squares = 0, absolute = 0;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    merge(blocks[block].errors, all);
    squares += blocks[block].squares;
    absolute += blocks[block].absolute;
    reference_squares += reference.block_squares[block];
    const double l2 = relative(blocks[block].squares, reference.block_squares[block]);
    if (l2 <= all.worst_block_l2) continue;
    all.worst_block_l2 = l2;
    all.worst_block = static_cast<std::int64_t>(block);
  }
  all.mean_abs = absolute / static_cast<double>(reference.values.size());
  all.relative_l2 = relative(squares, reference_squares);
  return all;
}

TensorLimits tensor_limits(const TensorReference& reference, const TensorErrors& twin, Dtype io) {
  const ToleranceFactors factors = tolerance_factors(reference.tensor.type.value_or(io));
  const double least_l2 = reference.tensor.type ? factors.relative_l2 : kSingleL2;
  TensorLimits limits;
  limits.max_abs = factors.max_factor * twin.max_abs + step_at(reference.tensor, reference.largest);
  limits.mean_abs = factors.mean_factor * twin.mean_abs + kSingleStep * reference.mean;
  limits.relative_l2 = std::max(least_l2, factors.mean_factor * twin.relative_l2);
  limits.block_l2 =
      std::max(factors.part_factor * least_l2, factors.mean_factor * twin.worst_block_l2);
  return limits;
}

Judgement judge_tensor(const TensorReference& reference, const TensorErrors& errors) {
  const TensorPlan& tensor = reference.tensor;
  if (errors.not_finite > 0) {
    return {false, kWorstMargin, "finite",
            fmt::format("finite: {} of {} elements of {} are NaN or infinite, first {}",
                        errors.not_finite, tensor.elements(), tensor.name,
                        describe_place(tensor, errors.first_not_finite))};
  }
  const TensorLimits& limits = reference.limits;
  if (reference.tolerance) {
    return worst_of(
        {{"tolerance", errors.worst_excess, 1,
          "of what is declared, at " + describe_place(tensor, errors.worst_excess_at)}});
  }
  const std::string over_all = "over all of " + tensor.name;
  return worst_of({{"max", errors.max_abs, limits.max_abs, describe_place(tensor, errors.worst)},
                   {"mean", errors.mean_abs, limits.mean_abs, over_all},
                   {"relative_l2", errors.relative_l2, limits.relative_l2, over_all},
                   {"block_l2", errors.worst_block_l2, limits.block_l2,
                    rows_text(tensor, errors.worst_block)}});
}

double tensor_vacuity(const TensorReference& reference) {
  if (reference.tolerance) {
    return ratio(reference.largest, allowed(*reference.tolerance, reference.largest));
  }
  const TensorLimits& limits = reference.limits;
  return std::max({ratio(reference.largest, limits.max_abs), ratio(reference.mean, limits.mean_abs),
                   ratio(1, limits.relative_l2)});
}

}  // namespace fatune
