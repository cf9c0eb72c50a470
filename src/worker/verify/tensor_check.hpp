// tensor_check.hpp - an output of a custom operation beside its reference, to errors and a verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "model/problem/tensor.hpp"
#include "worker/verify/tolerance.hpp"

namespace fatune {

/// Errors of one output. A block is kBlockRows rows, a row the last dimension.
struct TensorErrors {
  std::int64_t not_finite = 0, first_not_finite = 0;
  double max_abs = 0, mean_abs = 0, relative_l2 = 0, worst_block_l2 = 0;
  double worst_excess = 0;  ///< largest error over what is declared to be allowed there
  std::int64_t worst = 0, worst_block = 0, worst_excess_at = 0;  ///< elements, a block
  bool allclose_1e3 = true;  ///< |out - ref| <= 1e-3 + 1e-3 |ref| everywhere
};

/// Limits from the low-precision reference's errors; unused where a tolerance is declared.
struct TensorLimits {
  double max_abs = 0, mean_abs = 0, relative_l2 = 0, block_l2 = 0;
};

/// An output's reference values, and how far a kernel may be from them.
struct TensorReference {
  TensorPlan tensor;
  std::vector<float> values;
  std::vector<double> block_squares;
  double largest = 0, mean = 0;  ///< of |ref|
  std::optional<DeclaredTolerance> tolerance;
  TensorLimits limits;
};

/// A device error when a value is not finite: a reference that does not write all of its output
/// leaves NaN.
Result<TensorReference> make_tensor_reference(const TensorPlan& tensor, std::vector<float> values,
                                              std::optional<DeclaredTolerance> tolerance);
/// `out`: elements of the tensor's type. The same figures for any number of threads.
TensorErrors compare_tensor(const TensorReference& reference, std::span<const std::byte> out);
/// `io`: the problem's type, which kernels may round to on their way to an fp32 output.
TensorLimits tensor_limits(const TensorReference& reference, const TensorErrors& twin, Dtype io);
/// By the rules "finite" and then "tolerance", or "max", "mean", "relative_l2" and "block_l2".
Judgement judge_tensor(const TensorReference& reference, const TensorErrors& errors);
/// The zero-output check: by how much an output of zeros misses the limits. Below kLeastVacuity
/// they would accept one.
double tensor_vacuity(const TensorReference& reference);

}  // namespace fatune
