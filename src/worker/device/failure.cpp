// failure.cpp - errors, hangs and outcomes to failures and gates.
#include "worker/device/failure.hpp"

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
  return {Outcome::kTimeout, "a launch had not finished after " + describe(Seconds(seconds)), true};
}

}  // namespace fatune
