// compare.hpp - an output and the reference to errors: whole, by head, by 64 rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/problem/problem.hpp"

namespace fatune {

/// Rows of a block whose error is judged by itself, so that one wrong tile is not averaged away.
inline constexpr std::int64_t kBlockRows = 64;

/// The reference's output in fp32, with the norms that comparisons divide by.
struct ReferenceOutput {
  Problem problem;
  std::vector<float> values;
  /// Sum of squares of each block of rows; blocks of a head are neighbours.
  std::vector<double> block_squares;
  double quantum = 0;  ///< 2 * max|((ref + 0.3) - 0.3) - ref| in the output's element type
  double largest = 0;  ///< max|ref|
  double mean = 0;     ///< mean|ref|
};
ReferenceOutput make_reference_output(const Problem& problem, std::vector<float> values);
std::int64_t blocks_per_head(const Problem& problem);

/// Where an error was met.
struct OutputPlace {
  std::int64_t batch = 0, head = 0, row = 0, column = 0;
};
OutputPlace place_of(const Problem& problem, std::int64_t element);
std::string describe(const OutputPlace& place);      ///< "batch 0, head 3, row 17, column 5"
std::string describe_row(const OutputPlace& place);  ///< "batch 0, head 3, row 17"

struct Comparison {
  std::int64_t not_finite = 0;       ///< NaN or infinity
  std::int64_t masked_not_zero = 0;  ///< elements of fully masked rows that are not 0
  OutputPlace first_not_finite, first_masked_not_zero, worst;
  double max_abs = 0;
  double mean_abs = 0;
  double relative_l2 = 0;
  double worst_head_l2 = 0, worst_block_l2 = 0;
  std::int64_t worst_head = 0;   ///< counted over batch and heads
  std::int64_t worst_block = 0;  ///< index into block_squares
  bool allclose_1e3 = true;      ///< |out - ref| <= 1e-3 + 1e-3 |ref| everywhere
};
/// `out`: elements of the problem's dtype. The same figures for any number of threads.
Comparison compare(const ReferenceOutput& reference, std::span<const std::byte> out);

}  // namespace fatune
