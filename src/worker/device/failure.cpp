// failure.cpp - errors, hangs and outcomes to failures and gates.
#include "worker/device/failure.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.hpp"

namespace fatune {

Failure failure_of(const Error& error, CUstream stream) {
  if (error.kind == ErrorKind::kEnvironment) return {Outcome::kUnavailable, error.message, false};
  if (error.kind == ErrorKind::kUsage) return {Outcome::kInfeasible, error.message, false};
  const bool broken = gpu::context_broken(stream);
  return {broken ? Outcome::kCrashed : Outcome::kLaunchError, error.message, broken};
}

Failure hang_failure(std::chrono::microseconds limit) {
  const double seconds = static_cast<double>(limit.count()) * 1e-6;
  return {Outcome::kTimeout,
          fmt::format("a launch had not finished after {}", describe(Seconds(seconds))), true};
}

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
