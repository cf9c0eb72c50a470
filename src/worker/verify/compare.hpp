// compare.hpp: Measures the errors of an output: in all, by head, and by 64 rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/problem/tensor.hpp"
#include "worker/verify/not_finite.hpp"

namespace fatune {

/// The rows of a block whose error is judged by itself, so that one wrong tile is not averaged
/// away. A row is the last dimension. A block lies within a head, if there are heads.
inline constexpr std::int64_t kBlockRows = 64;

/// How far a kernel may be from the reference; see tolerance.hpp. A declared tolerance replaces it.
struct Limits {
  double max_abs = 0, mean_abs = 0;
  /// Absent for inputs of attention in which single keys decide a row.
  std::optional<double> relative_l2, head_l2, block_l2;
  std::optional<double> method_l2 = {};  ///< also absent if nothing was quantized
};

/// The reference's values of an output, with the norms that comparisons divide by.
struct TensorReference {
  TensorPlan tensor;
  std::vector<float> values;         ///< fp32; empty for f64, integers and bool
  std::vector<double> doubles = {};  ///< f64 outputs only
  /// The elements of an integer or bool output, as bytes that must be equal.
  std::vector<std::byte> exact = {};
  /// fp8 with N(0,1) inputs only: the values for the inputs before they were quantized.
  std::vector<float> unquantized = {};
  /// fp8 only, if single keys decide a row: the error that rounding weights and output may cause in
  /// each value (rounding_of() in tolerance.hpp).
  std::vector<float> rounding = {};
  /// For each row whether it sees a key; others must be exactly 0. Empty: all rows see.
  std::vector<bool> seeing = {};
  /// Set for inputs of attention that are not all finite. The values are for finite inputs.
  std::optional<LostOutputs> lost = {};
  std::optional<DeclaredTolerance> tolerance;
  Limits limits;
  /// The sum of squares of each block of rows. The blocks of a head are neighbours.
  std::vector<double> block_squares;
  double extreme = 0;            ///< the value with the largest magnitude
  double largest = 0, mean = 0;  ///< of |ref|

  double value(std::int64_t at) const {
    const auto i = static_cast<std::size_t>(at);
    return doubles.empty() ? values[i] : doubles[i];
  }
};
TensorReference make_reference(const TensorPlan& tensor, std::vector<float> values);
/// Returns the reference of a declared output from the bytes that the reference kernel wrote. f64,
/// integers and bool are in the tensor's type, others in fp32.
TensorReference make_declared_reference(const TensorPlan& tensor, std::vector<std::byte> bytes);
/// The reference of attention's out, whose rows may see no key.
TensorReference make_out_reference(const Attention& problem, std::vector<float> values);
/// A device error if a value is not finite. A reference that does not write all of its output
/// leaves NaN.
Status check_written(const TensorReference& reference);
std::int64_t blocks_per_head(const TensorPlan& tensor);

/// Places are elements of the tensor.
struct Comparison {
  std::int64_t not_finite = 0, first_not_finite = 0;  ///< NaN or infinity
  /// Numbers in places where there must be none.
  std::int64_t wrongly_finite = 0, first_wrongly_finite = 0;
  std::int64_t masked_not_zero = 0, first_masked_not_zero = 0;  ///< in rows that must be 0
  std::int64_t worst = 0;
  /// The largest error that `rounding` does not explain, and its place. Same as max_abs and worst
  /// if the reference has no `rounding`.
  double unexplained = 0;
  std::int64_t unexplained_at = 0;
  double max_abs = 0, mean_abs = 0, relative_l2 = 0;
  std::optional<double> method_l2 = {};  ///< relative to the values of unquantized inputs
  double worst_head_l2 = 0, worst_block_l2 = 0;
  std::int64_t worst_head = 0;   ///< counted over batch and heads
  std::int64_t worst_block = 0;  ///< index into block_squares
  double worst_excess = 0;       ///< largest error over what is declared to be allowed there
  std::int64_t worst_excess_at = 0;
  bool allclose_1e3 = true;        ///< |out - ref| <= 1e-3 + 1e-3 |ref| everywhere
  std::int64_t unequal = 0;        ///< integer or bool elements that differ from the reference
  std::string first_unequal = {};  ///< "y[17] is 5, not 7"
};
/// `out` has elements of the tensor's type. The figures do not depend on the number of threads.
Comparison compare(const TensorReference& reference, std::span<const std::byte> out);

/// The value over its limit, at most kWorstMargin.
double ratio(double value, double limit);
inline constexpr double kWorstMargin = 1e6;  ///< stands for infinity, which JSON cannot write
/// The error that a declared tolerance allows at a reference value.
double allowed(const DeclaredTolerance& tolerance, double reference);
/// Whether rounding may cause this error in this element.
bool explained(const TensorReference& reference, std::int64_t at, double error);

}  // namespace fatune
