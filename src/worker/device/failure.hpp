// failure.hpp - what went wrong with a candidate, and which gate says so.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "gpu/driver.hpp"
#include "model/results/measurement.hpp"
#include "worker/verify/tolerance.hpp"

namespace fatune {

/// What went wrong with a candidate. After a fatal failure the process must end.
struct Failure {
  Outcome outcome = Outcome::kWrongResult;
  std::string reason;
  bool fatal = false;
};
using MaybeFailure = std::optional<Failure>;

/// An error of a call made for a candidate: crashed when it broke the context, unavailable when
/// something is missing on this machine, infeasible when an implementation cannot do the problem,
/// else a refused launch.
Failure failure_of(const Error& error, CUstream stream);
Failure hang_failure(std::chrono::microseconds limit);

/// What comes of a difference between two runs: a failure, or, of an implementation that may vary
/// (Executable::may_vary), a note.
class Variation {
 public:
  explicit Variation(bool allowed) : allowed_(allowed) {}
  /// `finding`: "GATE: what differs". `verdict`: of the run that differs from the one before it,
  /// which must be right by itself. Outputs that were never written are always a failure.
  MaybeFailure differs(const std::string& finding, const Judgement& verdict);
  /// A gate that found a difference was not passed: it moves to those not run, with what was found.
  void note_in(Verification& verification) const;

 private:
  bool allowed_;
  std::map<std::string, std::string> notes_;  ///< the first of each gate
};

}  // namespace fatune
