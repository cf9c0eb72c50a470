// host_reference.hpp - attention in fp64 on the host, with which the device's reference is
// compared; log-sum-exps beside the reference's to the worst error and a verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "worker/verify/inputs.hpp"
#include "worker/verify/tolerance.hpp"

namespace fatune {

/// A row of the output.
struct OutputRow {
  std::int64_t batch = 0, head = 0, row = 0;
};

/// First keys that a query row sees; 0 for a fully masked row.
std::int64_t visible_keys(const Problem& problem, std::int64_t row);

struct HostRow {
  std::vector<double> values;  ///< head_dim of them; zeros for a fully masked row
  /// Largest sum of |q_d k_d| * scale, to which the fp32 rounding error of a score is proportional.
  double score_magnitude = 0;
  double value_magnitude = 0;  ///< largest |v| seen
  double lse = 0;              ///< natural log-sum-exp; -infinity for a fully masked row
};
HostRow attention_row(const Problem& problem, const HostInputs& inputs, const OutputRow& where);

/// First and last rows, first and last heads, and others at random: at most `count`, no row twice.
std::vector<OutputRow> sample_rows(const Problem& problem, std::size_t count, std::uint64_t seed);

/// What the reference wrote, in fp32.
struct ReferenceValues {
  std::span<const float> out;
  std::span<const float> lse = {};  ///< by row; of a problem with lse
};

/// Compares fp32 results of the device with fp64 on sampled rows. A wrong reference is a device
/// error that says where and by how much; nothing may be measured against it.
Status validate_reference(const Problem& problem, const HostInputs& inputs,
                          const ReferenceValues& reference, std::uint64_t seed);

/// The reference's values by row, and how far a kernel may be from them (the tolerance rule "lse").
/// Empty for a problem without lse.
struct LseReference {
  TensorPlan tensor;
  /// Natural logarithms; -infinity for a row that sees no key, NaN for one that is not judged.
  std::vector<float> values;
  std::vector<float> limits;  ///< of |lse - value|
};
LseReference make_lse_reference(const Problem& problem, const HostInputs& inputs,
                                std::vector<float> values);

/// Leaves the rows out that an element of the inputs takes along which is no number.
void leave_out(LseReference& reference, const LostOutputs& lost);
/// Of a fused problem: widens the limits by 4 times the largest error of the twin's log-sum-exps,
/// fp32 by row.
void allow_quantizing(LseReference& reference, std::span<const std::byte> twin);

struct LseJudgement {
  Judgement verdict;
  double max_abs = 0;  ///< largest error among the finite ones
};
/// `lse`: one fp32 value a row.
LseJudgement judge_lse(const LseReference& reference, std::span<const std::byte> lse);

}  // namespace fatune
