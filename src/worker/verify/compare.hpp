// compare.hpp - an output and the reference to errors: whole, by head, by 64 rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "model/problem/tensor.hpp"
#include "worker/verify/not_finite.hpp"

namespace fatune {

/// Rows of a block whose error is judged by itself, so that one wrong tile is not averaged away. A
/// row is the last dimension; a block lies within a head, where there are heads.
inline constexpr std::int64_t kBlockRows = 64;

/// How far a kernel may be from the reference; see tolerance.hpp. Not used where a tolerance is
/// declared.
struct Limits {
  double max_abs = 0, mean_abs = 0;
  /// Absent where single elements decide: inputs of attention in which single keys decide a row.
  std::optional<double> relative_l2, head_l2, block_l2;
  std::optional<double> method_l2 = {};  ///< absent also where nothing was quantized
};

/// The reference's values of an output in fp32, with the norms that comparisons divide by.
struct TensorReference {
  TensorPlan tensor;
  std::vector<float> values;
  /// Of fp8, of N(0,1) inputs: what the values are for the inputs before they were quantized.
  std::vector<float> unquantized = {};
  /// Of fp8, where single keys decide a row: what each value may be off by because weights and
  /// output are rounded (rounding_of() in tolerance.hpp).
  std::vector<float> rounding = {};
  /// First rows of every head that must be exactly 0: those that see no key.
  std::int64_t zero_rows = 0;
  /// Of attention, where inputs are not all finite; values are those of finite ones.
  std::optional<LostOutputs> lost = {};
  std::optional<DeclaredTolerance> tolerance;
  Limits limits;
  /// Sum of squares of each block of rows; blocks of a head are neighbours.
  std::vector<double> block_squares;
  float extreme = 0;             ///< the value with the largest magnitude
  double largest = 0, mean = 0;  ///< of |ref|
};
TensorReference make_reference(const TensorPlan& tensor, std::vector<float> values);
/// Of attention's out, whose rows may see no key.
TensorReference make_out_reference(const Problem& problem, std::vector<float> values);
/// A device error when a value is not finite: a reference that does not write all of its output
/// leaves NaN.
Status check_written(const TensorReference& reference);
std::int64_t blocks_per_head(const TensorPlan& tensor);

/// Places are elements of the tensor.
struct Comparison {
  std::int64_t not_finite = 0, first_not_finite = 0;  ///< NaN or infinity
  /// Numbers where there must be none.
  std::int64_t wrongly_finite = 0, first_wrongly_finite = 0;
  std::int64_t masked_not_zero = 0, first_masked_not_zero = 0;  ///< in rows that must be 0
  std::int64_t worst = 0;
  /// The largest error among those that `rounding` does not explain, and its place; max_abs and
  /// worst where the reference has none.
  double unexplained = 0;
  std::int64_t unexplained_at = 0;
  double max_abs = 0, mean_abs = 0, relative_l2 = 0;
  std::optional<double> method_l2 = {};  ///< relative to the values of unquantized inputs
  double worst_head_l2 = 0, worst_block_l2 = 0;
  std::int64_t worst_head = 0;   ///< counted over batch and heads
  std::int64_t worst_block = 0;  ///< index into block_squares
  double worst_excess = 0;       ///< largest error over what is declared to be allowed there
  std::int64_t worst_excess_at = 0;
  bool allclose_1e3 = true;  ///< |out - ref| <= 1e-3 + 1e-3 |ref| everywhere
};
/// `out`: elements of the tensor's type. The same figures for any number of threads.
Comparison compare(const TensorReference& reference, std::span<const std::byte> out);

/// The value over what is allowed, at most kWorstMargin.
double ratio(double value, double limit);
inline constexpr double kWorstMargin = 1e6;  ///< stands for infinity, which JSON cannot write
/// What a declared tolerance allows beside a reference value.
double allowed(const DeclaredTolerance& tolerance, double reference);
/// Whether rounding may cost so much in this element.
bool explained(const TensorReference& reference, std::int64_t at, double error);

}  // namespace fatune
