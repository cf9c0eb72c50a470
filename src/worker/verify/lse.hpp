// lse.hpp - log-sum-exps beside the reference's to the worst error and a verdict.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/problem/problem.hpp"
#include "worker/verify/inputs.hpp"
#include "worker/verify/tolerance.hpp"

namespace fatune {

/// The reference's values by row, and how far a kernel may be from them (the tolerance rule "lse").
/// Empty for a problem without lse.
struct LseReference {
  TensorPlan tensor;
  std::vector<float> values;  ///< natural logarithms; -infinity for a row that sees no key
  std::vector<float> limits;  ///< of |lse - value|
};
LseReference make_lse_reference(const Problem& problem, const HostInputs& inputs,
                                std::vector<float> values);

struct LseJudgement {
  Judgement verdict;
  double max_abs = 0;  ///< largest error among the finite ones
};
/// `lse`: one fp32 value a row.
LseJudgement judge_lse(const LseReference& reference, std::span<const std::byte> lse);

}  // namespace fatune
