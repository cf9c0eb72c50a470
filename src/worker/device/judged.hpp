// judged.hpp - outputs on the host to findings: beside the reference, and beside another run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "model/results/measurement.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/verify/lse.hpp"
#include "worker/verify/tolerance.hpp"

namespace fatune {

/// Errors as records have them.
struct ErrorFigures {
  double max_abs = 0, mean_abs = 0, relative_l2 = 0;
  bool allclose_1e3 = true;
};

struct Judged {
  ErrorFigures figures;  ///< the largest over the outputs, lse aside
  Judgement verdict;     ///< likewise
  std::optional<LseJudgement> lse;
  const Judgement& worst() const;  ///< the first that failed, else the larger margin
};

/// The first `checked` outputs, from `host` of DeviceProblem::host_output().
Judged judge_outputs(const DeviceProblem& problem, const InputSet& set, std::size_t host,
                     std::size_t checked);

/// What a run left of a buffer that was filled with `pattern` before it.
struct PoisonedRun {
  std::span<const std::byte> bytes;
  std::uint8_t pattern = 0;
};
/// "poison: ..." for elements that were never written, "repeat: ..." for others that differ; empty
/// when the runs agree to the bit.
std::string poison_finding(const TensorPlan& tensor, const PoisonedRun& first,
                           const PoisonedRun& second);

/// The margin becomes the verdict's where that is larger.
void account_margin(const Judgement& verdict, Verification& verification);
/// Adds a set's verdict to those before it. The figures are of inputs as they are usually.
void account(const Judged& judged, const InputCase& which, Verification& verification);

}  // namespace fatune
