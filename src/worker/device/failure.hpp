// failure.hpp: Describes what went wrong with a candidate, and makes failures of errors and hangs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "gpu/driver.hpp"
#include "model/kernel/gate_table.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// After a fatal failure the process must end.
struct Failure {
  Outcome outcome = Outcome::kWrongResult;
  std::string reason;
  bool fatal = false;
};
using MaybeFailure = std::optional<Failure>;

/// A wrong result, whose reason begins with the gate's name.
Failure refused(GateId gate, std::string_view why);
/// Classifies an error of a call that was made for a candidate. It crashed if it broke the context.
/// It is unavailable if this machine lacks something, and infeasible if the implementation cannot
/// do the problem. Every other error is a refused launch.
Failure failure_of(const Error& error, CUstream stream);
Failure hang_failure(std::chrono::microseconds limit);
/// Copies outcome and reason.
void record_failure(const Failure& failure, Observation& seen);

}  // namespace fatune
