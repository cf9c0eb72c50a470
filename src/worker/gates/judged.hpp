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
  /// The largest max_abs, mean_abs and relative_l2 of the outputs without lse, and allclose_1e3 of
  /// all.
  Comparison figures;
  Judgement verdict;  ///< of the outputs without lse
  std::optional<LseJudgement> lse;
  const Judgement& worst() const;  ///< the first that failed, else the larger margin
};

/// Judges the first `checked` outputs, from `host` of DeviceProblem::host_output().
Judged judge_outputs(const DeviceProblem& problem, const InputSet& set, std::size_t host,
                     std::size_t checked);

/// Judges an output in fp8 where `out` has 16 bits. All elements must be finite. The first `heads`
/// may be off in the 2-norm by the problem's limit and the cost of rounding to `type`.
Judged judge_own_output(const TensorReference& out, Dtype type, std::int64_t heads,
                        std::span<const std::byte> elements);

/// The wrong regions of the outputs that are wrong.
std::vector<ErrorRegion> wrong_regions(const DeviceProblem& problem, const InputSet& set,
                                       std::size_t host);

/// Raises the margin to the verdict's.
void account_margin(const Judgement& verdict, Verification& verification);
/// Adds a set's verdict to those before it. Figures come from N(0,1) inputs alone.
void account(const Judged& judged, const InputCase& which, Verification& verification);

}  // namespace fatune
