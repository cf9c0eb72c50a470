// host_reference.hpp: Computes attention in fp64 on the host, and judges log-sum-exps.
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

struct HostRow {
  std::vector<double> values;  ///< head_dim of them; zeros for a fully masked row
  /// The largest sum of |q_d k_d| * scale. The fp32 rounding error of a score is proportional to
  /// it.
  double score_magnitude = 0;
  double value_magnitude = 0;  ///< largest |v| seen
  double lse = 0;              ///< natural log-sum-exp; -infinity for a fully masked row
};
HostRow attention_row(const Attention& problem, const HostInputs& inputs, const OutputRow& where);

/// Chooses at most `most` different rows: first and last rows, first and last heads, and random
/// ones.
std::vector<OutputRow> sample_rows(const Attention& problem, std::size_t most, std::uint64_t seed);

/// The reference's output in fp32.
struct ReferenceValues {
  std::span<const float> out;
  std::span<const float> lse = {};  ///< by row; only for a problem with lse
};

/// Compares fp32 results of the device with fp64 on sampled rows. A wrong reference is a device
/// error that says where and by how much.
Status validate_reference(const Attention& problem, const HostInputs& inputs,
                          const ReferenceValues& reference, std::uint64_t seed);

/// The reference's log-sum-exps by row, and how far a kernel may be from them (the tolerance rule
/// "lse"). Empty for a problem without lse.
struct LseReference {
  TensorPlan tensor;
  /// Natural logarithms. -infinity for a row that sees no key, NaN for a row that is not judged.
  std::vector<float> values;
  std::vector<float> limits;  ///< limits of |lse - value|
};
LseReference make_lse_reference(const Attention& problem, const HostInputs& inputs,
                                std::vector<float> values);

/// Excludes the rows that depend on an input that is not finite.
void leave_out(LseReference& reference, const LostOutputs& lost);
/// For a fused problem: widens the limits by 4 times the largest error of the low-precision
/// reference's log-sum-exps (fp32, by row).
void allow_quantizing(LseReference& reference, std::span<const std::byte> low_precision);

struct LseJudgement {
  Judgement verdict;
  double max_abs = 0;  ///< largest error of finite values
};
/// `lse` has one fp32 value a row.
LseJudgement judge_lse(const LseReference& reference, std::span<const std::byte> lse);

/// The judgement of all outputs of a run.
struct Judged {
  /// The largest max_abs, mean_abs and relative_l2 of the outputs without lse, and allclose_1e3 of
  /// all.
  Comparison figures;
  Judgement verdict;  ///< of the outputs without lse
  std::optional<LseJudgement> lse;
  const Judgement& worst() const;  ///< the first that failed, else the larger margin
};

}  // namespace fatune
