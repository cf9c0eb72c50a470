// judged.hpp - outputs on the host, compared with the reference, to a verdict and its figures.
#pragma once

#include <cstddef>
#include <optional>

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
  ErrorFigures figures;  ///< of out, or the largest over the outputs that are declared
  Judgement verdict;     ///< likewise
  std::optional<LseJudgement> lse;
  const Judgement& worst() const;  ///< the first that failed, else the larger margin
};

/// The first `checked` outputs, from `host` of DeviceProblem::host_output().
Judged judge_outputs(const DeviceProblem& problem, const InputSet& set, std::size_t host,
                     std::size_t checked);

/// The margin becomes the verdict's where that is larger.
void account_margin(const Judgement& verdict, Verification& verification);
/// Adds a set's verdict to those before it. The figures are of inputs as they are usually.
void account(const Judged& judged, const InputCase& which, Verification& verification);

}  // namespace fatune
