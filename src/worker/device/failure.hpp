// failure.hpp - what went wrong with a candidate, and which gate says so.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "gpu/driver.hpp"
#include "model/results/measurement.hpp"

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

}  // namespace fatune
