// variation.cpp - a finding becomes a failure or a note.
#include "worker/device/variation.hpp"

#include <algorithm>

namespace fatune {

MaybeFailure Variation::differs(const std::string& finding, const Judgement& verdict) {
  const std::string gate = gate_of(Outcome::kWrongResult, finding);
  if (!allowed_ || gate == "poison") return Failure{Outcome::kWrongResult, finding, false};
  if (!verdict.passed) {
    const std::string reason = "accuracy: " + verdict.reason + ", in one of two runs that differ";
    return Failure{Outcome::kWrongResult, reason, false};
  }
  notes_.try_emplace(gate, finding);
  return std::nullopt;
}

void Variation::note_in(Verification& verification) const {
  for (const auto& [gate, finding] : notes_) {
    std::erase(verification.gates, gate);
    verification.not_run.push_back(finding + "; each run was judged by itself");
  }
}

}  // namespace fatune
