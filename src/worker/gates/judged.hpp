// judged.hpp: Judges the outputs of a run by the reference, and adds the verdict to the others.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "model/results/measurement.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/verify/host_reference.hpp"

namespace fatune {

struct Judged {
  /// The largest over the outputs, lse aside: max_abs, mean_abs, relative_l2 and allclose_1e3
  /// alone.
  Comparison figures;
  Judgement verdict;  ///< likewise
  std::optional<LseJudgement> lse;
  const Judgement& worst() const;  ///< the first that failed, else the larger margin
};

/// The first `checked` outputs, from `host` of DeviceProblem::host_output().
Judged judge_outputs(const DeviceProblem& problem, const InputSet& set, std::size_t host,
                     std::size_t checked);

/// An output in fp8 where `out` has 16 bits: all elements are finite, and the first `heads` are off
/// in the 2-norm by what the problem allows and what rounding to `type` costs at most.
Judged judge_own_output(const TensorReference& out, Dtype type, std::int64_t heads,
                        std::span<const std::byte> elements);

/// Of those of the outputs that are wrong.
std::vector<ErrorRegion> wrong_regions(const DeviceProblem& problem, const InputSet& set,
                                       std::size_t host);

/// The margin becomes the verdict's where that is larger.
void account_margin(const Judgement& verdict, Verification& verification);
/// Adds a set's verdict to those before it. The figures are of inputs as they are usually.
void account(const Judged& judged, const InputCase& which, Verification& verification);

}  // namespace fatune
