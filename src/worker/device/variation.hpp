// variation.hpp - outputs of one implementation that differ between runs over the same inputs.
#pragma once

#include <map>
#include <string>

#include "model/results/measurement.hpp"
#include "worker/device/failure.hpp"
#include "worker/verify/tolerance.hpp"

namespace fatune {

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
