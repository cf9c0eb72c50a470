// profile_job.hpp - what a profile worker is to launch, and the job file that says so.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune {

/// The job of the process that ncu starts. It verifies nothing: profile only candidates that passed
/// the gates.
struct ProfileJob {
  int device = 0;
  Problem problem;
  std::optional<OperationPlan> custom = {};  ///< of a custom operation: its tensors
  Program program;
  int warm_ups = 3;         ///< passes before the profiler looks at one
  std::uint64_t seed = 42;  ///< of the inputs
};
void fields(ProfileJob& x, FieldList& f);

}  // namespace fatune
