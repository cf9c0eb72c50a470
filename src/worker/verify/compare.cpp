// compare.cpp: Passes once over an output beside its reference, block by block.
#include "worker/verify/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/parallel.hpp"
#include "model/problem/rule_keys.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {
namespace {

constexpr std::size_t kBlocksOfAThread = 32;  // chosen: some 100 us of work

/// The norm of an error over the norm of the reference. A reference of zeros allows no error.
double relative(double error_squares, double reference_squares) {
  if (error_squares == 0) return 0;
  if (reference_squares == 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(error_squares / reference_squares);
}

/// First element and number of elements.
struct Range {
  std::int64_t first, count;
};

Range block_range(const TensorPlan& tensor, std::int64_t block) {
  const std::int64_t head = block / blocks_per_head(tensor);
  const std::int64_t row = block % blocks_per_head(tensor) * kBlockRows;
  const std::int64_t rows = std::min(kBlockRows, tensor.part_rows() - row);
  return {(head * tensor.part_rows() + row) * tensor.columns(), rows * tensor.columns()};
}

std::int64_t heads_of(const TensorPlan& tensor) { return tensor.rows() / tensor.part_rows(); }

/// Calls `work` with each block and its range, on several threads.
template <typename Work>
void for_each_block(const TensorPlan& tensor, const Work& work) {
  const std::int64_t blocks = heads_of(tensor) * blocks_per_head(tensor);
  const auto piece = [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block)
      work(block, block_range(tensor, static_cast<std::int64_t>(block)));
  };
  parallel_for(static_cast<std::size_t>(blocks), kBlocksOfAThread, piece);
}

/// Sums and extremes of one block. Places are elements of the tensor.
struct BlockErrors {
  double squares = 0, absolute = 0, largest = 0, unexplained = 0, excess = 0;
  std::int64_t worst = 0, unexplained_at = 0, excess_at = 0, first_not_finite = 0, not_finite = 0;
  std::int64_t first_finite = 0, finite = 0;  // in places where there must be no number
  bool allclose = true;
};

template <typename Element>
auto value_of(std::span<const float> table, Element element) {
  if constexpr (std::is_floating_point_v<Element>) {
    return element;
  } else {
    return table[element];
  }
}

template <typename Element>
auto right_value(const TensorReference& reference, std::int64_t at) {
  const auto i = static_cast<std::size_t>(at);
  if constexpr (std::is_same_v<Element, double>) {
    return reference.doubles[i];
  } else {
    return reference.values[i];
  }
}

/// fp32 is exact enough for errors of 8- and 16-bit elements; fp32 and f64 elements need double.
template <typename Element>
BlockErrors scan(const TensorReference& reference, std::span<const float> table,
                 std::span<const std::byte> out, const Range& range) {
  using Error = std::conditional_t<std::is_floating_point_v<Element>, double, float>;
  const Element* elements = reinterpret_cast<const Element*>(out.data());
  constexpr auto kClose = static_cast<Error>(1e-3);
  BlockErrors errors;
  Error largest = 0, unexplained = 0;
  const bool bounded = !reference.rounding.empty();
  for (std::int64_t at = range.first; at < range.first + range.count; ++at) {
    const Error right = right_value<Element>(reference, at);
    const Error error = std::abs(static_cast<Error>(value_of(table, elements[at])) - right);
    if (!(error <= std::numeric_limits<Error>::max())) {
      if (errors.not_finite++ == 0) errors.first_not_finite = at;
      continue;
    }
    if (error > largest) {
      largest = error;
      errors.worst = at;
    }
    if (bounded && error > unexplained && !explained(reference, at, error)) {
      unexplained = error;
      errors.unexplained_at = at;
    }
    if (reference.tolerance) {
      const double excess = ratio(error, allowed(*reference.tolerance, right));
      if (excess > errors.excess) {
        errors.excess = excess;
        errors.excess_at = at;
      }
    }
    errors.absolute += error;
    errors.squares += static_cast<double>(error) * error;
    if (error > kClose + kClose * std::abs(right)) errors.allclose = false;
  }
  errors.largest = largest;
  errors.unexplained = bounded ? unexplained : largest;
  if (!bounded) errors.unexplained_at = errors.worst;
  return errors;
}

/// Judges a head in which an input is not finite: only whether outputs that depend on it are
/// numbers.
BlockErrors scan_lost(const TensorReference& reference, std::span<const std::byte> out,
                      std::int64_t head, const Range& range) {
  const std::span<const float> table = decode_table(*reference.tensor.type);
  const auto* elements = reinterpret_cast<const std::uint16_t*>(out.data());
  const std::int64_t columns = reference.tensor.columns();
  BlockErrors errors;
  for (std::int64_t at = range.first; at < range.first + range.count; ++at) {
    const std::int64_t row = at / columns % reference.tensor.part_rows();
    if (!std::isfinite(table[elements[at]])) continue;
    if (!reference.lost->must_be_lost(head, row, at % columns)) continue;
    if (errors.finite++ == 0) errors.first_finite = at;
  }
  return errors;
}

std::vector<BlockErrors> scan_all(const TensorReference& reference,
                                  std::span<const std::byte> out) {
  const std::optional<Dtype>& type = reference.tensor.type;
  const std::span<const float> table = type ? decode_table(*type) : std::span<const float>();
  const auto scan_block = reference.tensor.is(PlainType::kF64) ? scan<double>
                          : !type                              ? scan<float>
                          : size_of(*type) == 1                ? scan<std::uint8_t>
                                                               : scan<std::uint16_t>;
  std::vector<BlockErrors> blocks(reference.block_squares.size());
  for_each_block(reference.tensor, [&](std::size_t block, const Range& range) {
    const std::int64_t head = static_cast<std::int64_t>(block) / blocks_per_head(reference.tensor);
    blocks[block] = reference.lost && reference.lost->has(head)
                        ? scan_lost(reference, out, head, range)
                        : scan_block(reference, table, out, range);
  });
  return blocks;
}

/// Adds a block's extremes to those of the blocks before it.
void merge(const BlockErrors& block, Comparison& all) {
  all.allclose_1e3 = all.allclose_1e3 && block.allclose && block.not_finite == 0;
  if (block.not_finite > 0 && all.not_finite == 0) all.first_not_finite = block.first_not_finite;
  all.not_finite += block.not_finite;
  if (block.finite > 0 && all.wrongly_finite == 0) all.first_wrongly_finite = block.first_finite;
  all.wrongly_finite += block.finite;
  if (block.largest > all.max_abs) {
    all.max_abs = block.largest;
    all.worst = block.worst;
  }
  if (block.unexplained > all.unexplained) {
    all.unexplained = block.unexplained;
    all.unexplained_at = block.unexplained_at;
  }
  if (block.excess > all.worst_excess) {
    all.worst_excess = block.excess;
    all.worst_excess_at = block.excess_at;
  }
}

/// The relative 2-norm of the output's error against the values of unquantized inputs.
double method_error(const TensorReference& reference, std::span<const std::byte> out) {
  const std::span<const float> table = decode_table(*reference.tensor.type);
  const auto* elements = reinterpret_cast<const std::uint16_t*>(out.data());
  std::vector<std::pair<double, double>> blocks(reference.block_squares.size());
  for_each_block(reference.tensor, [&](std::size_t block, const Range& range) {
    auto& [errors, values] = blocks[block];
    for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
      const double right = reference.unquantized[static_cast<std::size_t>(i)];
      const double error = table[elements[i]] - right;
      errors += error * error;
      values += right * right;
    }
  });
  double errors = 0, values = 0;
  for (const auto& [of_errors, of_values] : blocks) {
    errors += of_errors;
    values += of_values;
  }
  return relative(errors, values);
}

/// Sums up one block of the reference.
struct BlockNorms {
  double squares = 0, absolute = 0, extreme = 0;
};

template <typename Value>
std::vector<BlockNorms> norms_of(const TensorPlan& tensor, const std::vector<Value>& values) {
  std::vector<BlockNorms> blocks(
      static_cast<std::size_t>(heads_of(tensor) * blocks_per_head(tensor)));
  for_each_block(tensor, [&](std::size_t block, const Range& range) {
    BlockNorms norms;
    for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
      const double value = values[static_cast<std::size_t>(i)];
      norms.squares += value * value;
      norms.absolute += std::abs(value);
      if (std::abs(value) > std::abs(norms.extreme)) norms.extreme = value;
    }
    blocks[block] = norms;
  });
  return blocks;
}

void add_masked_rows(const TensorReference& reference, std::span<const std::byte> out,
                     Comparison& result) {
  const TensorPlan& tensor = reference.tensor;
  if (reference.seeing.empty()) return;
  const auto table = decode_table(*tensor.type);
  for (std::int64_t head = 0; head < heads_of(tensor); ++head) {
    const std::int64_t first = head * tensor.part_rows(), columns = tensor.columns();
    if (reference.lost && reference.lost->has(head)) continue;
    for (std::int64_t i = first * columns; i < (first + tensor.part_rows()) * columns; ++i) {
      if (reference.seeing[static_cast<std::size_t>(i / columns)]) continue;
      std::uint16_t element = 0;
      std::memcpy(&element, out.data() + static_cast<std::size_t>(i) * tensor.width(),
                  tensor.width());
      if (table[element] == 0) continue;
      if (result.masked_not_zero++ == 0) result.first_masked_not_zero = i;
    }
  }
}

/// Sets the norms of the reference's values.
template <typename Value>
void set_norms(const std::vector<Value>& values, TensorReference& reference) {
  FATUNE_CHECK(static_cast<std::int64_t>(values.size()) == reference.tensor.elements(),
               "one value for each element");
  double sum = 0;
  for (const BlockNorms& block : norms_of(reference.tensor, values)) {
    reference.block_squares.push_back(block.squares);
    sum += block.absolute;
    if (std::abs(block.extreme) > std::abs(reference.extreme)) reference.extreme = block.extreme;
  }
  reference.largest = std::abs(reference.extreme);
  reference.mean = sum / static_cast<double>(values.size());
}

/// Returns an integer or bool in decimal, for messages.
std::string element_text(const TensorPlan& tensor, const std::byte* from) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, tensor.width());
  const PlainFacts& type = plain_facts(tensor.plain);
  const unsigned above = 64 - 8 * static_cast<unsigned>(type.bytes);
  if (type.least == 0) return fmt::format("{}", bits);
  return fmt::format("{}", static_cast<std::int64_t>(bits << above) >> above);
}

Comparison compare_exactly(const TensorReference& reference, std::span<const std::byte> out) {
  const TensorPlan& tensor = reference.tensor;
  const std::size_t width = tensor.width();
  Comparison result;
  if (std::memcmp(out.data(), reference.exact.data(), out.size()) == 0) return result;
  result.allclose_1e3 = false;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const std::byte* const found = out.data() + static_cast<std::size_t>(i) * width;
    const std::byte* const wanted = reference.exact.data() + static_cast<std::size_t>(i) * width;
    if (std::memcmp(found, wanted, width) == 0 || result.unequal++ != 0) continue;
    result.first_unequal = fmt::format("{} is {}, not {}", describe_place(tensor, i),
                                       element_text(tensor, found), element_text(tensor, wanted));
  }
  return result;
}

}  // namespace

double ratio(double value, double limit) {
  if (value == 0) return 0;
  if (!(limit > 0) || !std::isfinite(value)) return kWorstMargin;
  return std::min(value / limit, kWorstMargin);
}

double allowed(const DeclaredTolerance& tolerance, double reference) {
  return tolerance.absolute + tolerance.relative * std::abs(reference);
}

bool explained(const TensorReference& reference, std::int64_t at, double error) {
  return !reference.rounding.empty() && error <= reference.rounding[static_cast<std::size_t>(at)];
}

std::int64_t blocks_per_head(const TensorPlan& tensor) {
  return (tensor.part_rows() + kBlockRows - 1) / kBlockRows;
}

TensorReference make_reference(const TensorPlan& tensor, std::vector<float> values) {
  TensorReference reference;
  reference.tensor = tensor;
  reference.values = std::move(values);
  set_norms(reference.values, reference);
  return reference;
}

TensorReference make_declared_reference(const TensorPlan& tensor, std::vector<std::byte> bytes) {
  TensorReference reference;
  reference.tensor = tensor;
  if (tensor.whole()) {
    reference.exact = std::move(bytes);
  } else if (tensor.is(PlainType::kF64)) {
    reference.doubles.resize(bytes.size() / sizeof(double));
    std::memcpy(reference.doubles.data(), bytes.data(), bytes.size());
    set_norms(reference.doubles, reference);
  } else {
    return make_reference(tensor, floats_of(bytes));
  }
  return reference;
}

TensorReference make_out_reference(const Attention& problem, std::vector<float> values) {
  TensorReference reference =
      make_reference(attention_plan(problem).outputs().front(), std::move(values));
  reference.seeing = VisibleKeys(problem).seeing();
  return reference;
}

Status check_written(const TensorReference& reference) {
  if (!reference.exact.empty()) return {};
  for (std::int64_t at = 0; at < reference.tensor.elements(); ++at) {
    if (std::isfinite(reference.value(at))) continue;
    return device_error(fmt::format("the reference leaves {} unwritten, or it is not finite there",
                                    describe_place(reference.tensor, at)));
  }
  return {};
}

Comparison compare(const TensorReference& reference, std::span<const std::byte> out) {
  FATUNE_CHECK(out.size() == reference.tensor.bytes(), "an output as large as the reference");
  if (!reference.exact.empty()) return compare_exactly(reference, out);
  const std::vector<BlockErrors> blocks = scan_all(reference, out);
  Comparison result;
  double squares = 0, reference_squares = 0, absolute = 0, head_squares = 0, head_reference = 0;
  const std::int64_t in_head = blocks_per_head(reference.tensor);
  for (std::int64_t block = 0; block < static_cast<std::int64_t>(blocks.size()); ++block) {
    const BlockErrors& errors = blocks[static_cast<std::size_t>(block)];
    const double wanted = reference.block_squares[static_cast<std::size_t>(block)];
    merge(errors, result);
    if (block % in_head == 0) head_squares = head_reference = 0;
    absolute += errors.absolute;
    squares += errors.squares;
    head_squares += errors.squares;
    reference_squares += wanted;
    head_reference += wanted;
    if (const double l2 = relative(errors.squares, wanted); l2 > result.worst_block_l2) {
      result.worst_block_l2 = l2;
      result.worst_block = block;
    }
    if (block % in_head + 1 < in_head) continue;
    if (const double l2 = relative(head_squares, head_reference); l2 > result.worst_head_l2) {
      result.worst_head_l2 = l2;
      result.worst_head = block / in_head;
    }
  }
  result.mean_abs = absolute / static_cast<double>(reference.tensor.elements());
  result.relative_l2 = relative(squares, reference_squares);
  if (!reference.unquantized.empty()) result.method_l2 = method_error(reference, out);
  add_masked_rows(reference, out, result);
  return result;
}

}  // namespace fatune
