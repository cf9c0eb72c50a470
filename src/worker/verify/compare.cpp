// compare.cpp - one pass over an output beside its reference, block by block.
#include "worker/verify/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "worker/verify/host_reference.hpp"

namespace fatune {
namespace {

/// Enough to meet the largest magnitudes, whose rounding step decides.
constexpr std::size_t kQuantumSamples = 1'000'000;
constexpr std::size_t kQuantumParts = 64;     // chosen: a piece of samples for every thread
constexpr std::size_t kBlocksOfAThread = 32;  // chosen: some 100 us of work

double quantum_at(Dtype dtype, float value) {
  const auto table = decode_table(dtype);
  const auto element = [&](float x) { return table[encode(dtype, x)]; };
  const float rounded = element(value);
  const float up = element(rounded + 0.3f);
  const float back = element(up - 0.3f);
  return 2.0 * std::abs(static_cast<double>(back) - rounded);
}

/// Norm of an error over the norm of what is right; a reference of zeros allows no error at all.
double relative(double error_squares, double reference_squares) {
  if (error_squares == 0) return 0;
  if (reference_squares == 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(error_squares / reference_squares);
}

/// Sums over one block of rows.
struct BlockErrors {
  double squares = 0, absolute = 0;
  float largest = 0;
  std::int64_t worst_element = 0;
  std::int64_t first_not_finite = -1;
  std::int64_t not_finite = 0;
  bool allclose = true;
};

template <typename Element>
BlockErrors scan(std::span<const float> table, const Element* out, const float* reference,
                 std::int64_t count) {
  BlockErrors errors;
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = table[out[i]];
    const float error = std::abs(value - reference[i]);
    if (!(error <= std::numeric_limits<float>::max())) {
      if (errors.not_finite++ == 0) errors.first_not_finite = i;
      continue;
    }
    if (error > errors.largest) {
      errors.largest = error;
      errors.worst_element = i;
    }
    errors.absolute += error;
    errors.squares += static_cast<double>(error) * error;
    if (error > 1e-3f + 1e-3f * std::abs(reference[i])) errors.allclose = false;
  }
  return errors;
}

BlockErrors scan_block(const ReferenceOutput& reference, std::span<const std::byte> out,
                       std::int64_t first, std::int64_t count) {
  const auto table = decode_table(reference.problem.dtype);
  const float* want = reference.values.data() + first;
  if (size_of(reference.problem.dtype) == 1) {
    return scan(table, reinterpret_cast<const std::uint8_t*>(out.data()) + first, want, count);
  }
  return scan(table, reinterpret_cast<const std::uint16_t*>(out.data()) + first, want, count);
}

/// First element and number of elements of a block.
std::pair<std::int64_t, std::int64_t> block_range(const Problem& problem, std::int64_t block) {
  const std::int64_t head = block / blocks_per_head(problem);
  const std::int64_t first_row = block % blocks_per_head(problem) * kBlockRows;
  const std::int64_t rows = std::min(kBlockRows, problem.seq_q - first_row);
  return {(head * problem.seq_q + first_row) * problem.head_dim, rows * problem.head_dim};
}

/// Calls `work` with each block and its range, on several threads.
template <typename Work>
void for_each_block(const Problem& problem, const Work& work) {
  const std::int64_t blocks = problem.batch * problem.heads * blocks_per_head(problem);
  const auto piece = [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const auto [first, count] = block_range(problem, static_cast<std::int64_t>(block));
      work(block, first, count);
    }
  };
  parallel_for(static_cast<std::size_t>(blocks), kBlocksOfAThread, piece);
}

/// Sums over one block of the reference.
struct BlockNorms {
  double squares = 0, absolute = 0;
  float extreme = 0;
};

std::vector<BlockNorms> norms_of(const Problem& problem, const std::vector<float>& values) {
  std::vector<BlockNorms> blocks(
      static_cast<std::size_t>(problem.batch * problem.heads * blocks_per_head(problem)));
  for_each_block(problem, [&](std::size_t block, std::int64_t first, std::int64_t count) {
    BlockNorms norms;
    for (std::int64_t i = first; i < first + count; ++i) {
      const float value = values[static_cast<std::size_t>(i)];
      norms.squares += static_cast<double>(value) * value;
      norms.absolute += std::abs(value);
      if (std::abs(value) > std::abs(norms.extreme)) norms.extreme = value;
    }
    blocks[block] = norms;
  });
  return blocks;
}

/// The largest rounding step among samples of the values.
double quantum_of(Dtype dtype, const std::vector<float>& values) {
  const std::size_t stride = values.size() / kQuantumSamples + 1;
  const std::size_t samples = (values.size() + stride - 1) / stride;
  std::vector<double> largest(kQuantumParts, 0.0);
  parallel_for(kQuantumParts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      for (std::size_t i = part; i < samples; i += kQuantumParts)
        largest[part] = std::max(largest[part], quantum_at(dtype, values[i * stride]));
    }
  });
  return *std::max_element(largest.begin(), largest.end());
}

void add_masked_rows(const ReferenceOutput& reference, std::span<const std::byte> out,
                     Comparison& result) {
  const Problem& problem = reference.problem;
  const std::int64_t masked = problem.mask == Mask::kCausal ? problem.seq_q - problem.seq_kv : 0;
  const auto width = static_cast<std::size_t>(size_of(problem.dtype));
  const auto table = decode_table(problem.dtype);
  for (std::int64_t head = 0; masked > 0 && head < problem.batch * problem.heads; ++head) {
    const std::int64_t first = head * problem.seq_q * problem.head_dim;
    for (std::int64_t i = first; i < first + masked * problem.head_dim; ++i) {
      std::uint16_t element = 0;
      std::memcpy(&element, out.data() + static_cast<std::size_t>(i) * width, width);
      if (table[element] == 0) continue;
      if (result.masked_not_zero++ == 0) result.first_masked_not_zero = place_of(problem, i);
    }
  }
}

}  // namespace

std::int64_t blocks_per_head(const Problem& problem) {
  return (problem.seq_q + kBlockRows - 1) / kBlockRows;
}

OutputPlace place_of(const Problem& problem, std::int64_t element) {
  const std::int64_t row = element / problem.head_dim;
  const std::int64_t head = row / problem.seq_q;
  return {head / problem.heads, head % problem.heads, row % problem.seq_q,
          element % problem.head_dim};
}

std::string describe(const OutputPlace& place) {
  return describe_row(place) + ", column " + std::to_string(place.column);
}

std::string describe_row(const OutputPlace& place) {
  return "batch " + std::to_string(place.batch) + ", head " + std::to_string(place.head) +
         ", row " + std::to_string(place.row);
}

ReferenceOutput make_reference_output(const Problem& problem, std::vector<float> values) {
  FATUNE_CHECK(static_cast<std::int64_t>(values.size()) == problem.query_elements(),
               "one value for each output");
  ReferenceOutput reference;
  reference.problem = problem;
  reference.values = std::move(values);
  double sum = 0;
  float extreme = 0;
  for (const BlockNorms& block : norms_of(problem, reference.values)) {
    reference.block_squares.push_back(block.squares);
    sum += block.absolute;
    if (std::abs(block.extreme) > std::abs(extreme)) extreme = block.extreme;
  }
  reference.largest = std::abs(extreme);
  reference.mean = sum / static_cast<double>(reference.values.size());
  reference.quantum =
      std::max(quantum_at(problem.dtype, extreme), quantum_of(problem.dtype, reference.values));
  return reference;
}

Comparison compare(const ReferenceOutput& reference, std::span<const std::byte> out) {
  const Problem& problem = reference.problem;
  FATUNE_CHECK(
      out.size() == reference.values.size() * static_cast<std::size_t>(size_of(problem.dtype)),
      "an output as large as the reference");
  std::vector<BlockErrors> blocks(reference.block_squares.size());
  for_each_block(problem, [&](std::size_t block, std::int64_t first, std::int64_t count) {
    blocks[block] = scan_block(reference, out, first, count);
  });
  Comparison result;
  double squares = 0, reference_squares = 0, absolute = 0, head_squares = 0, head_reference = 0;
  const std::int64_t in_head = blocks_per_head(problem);
  for (std::int64_t block = 0; block < static_cast<std::int64_t>(blocks.size()); ++block) {
    const std::int64_t first = block_range(problem, block).first;
    const BlockErrors& errors = blocks[static_cast<std::size_t>(block)];
    const double wanted = reference.block_squares[static_cast<std::size_t>(block)];
    if (block % in_head == 0) head_squares = head_reference = 0;
    absolute += errors.absolute;
    squares += errors.squares;
    head_squares += errors.squares;
    reference_squares += wanted;
    head_reference += wanted;
    result.allclose_1e3 = result.allclose_1e3 && errors.allclose && errors.not_finite == 0;
    if (errors.not_finite > 0 && result.not_finite == 0) {
      result.first_not_finite = place_of(problem, first + errors.first_not_finite);
    }
    result.not_finite += errors.not_finite;
    if (errors.largest > result.max_abs) {
      result.max_abs = errors.largest;
      result.worst = place_of(problem, first + errors.worst_element);
    }
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
  result.mean_abs = absolute / static_cast<double>(reference.values.size());
  result.relative_l2 = relative(squares, reference_squares);
  add_masked_rows(reference, out, result);
  return result;
}

}  // namespace fatune
