// failure.cpp: Makes failures of refusals, errors and hangs.
#include "worker/device/failure.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/units.hpp"

namespace fatune {

Failure refused(GateId gate, std::string_view why) {
  return {Outcome::kWrongResult, fmt::format("{}: {}", name(gate), why), false};
}

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

void record_failure(const Failure& failure, Observation& seen) {
  seen.outcome = failure.outcome;
  seen.reason = failure.reason;
}

}  // namespace fatune
