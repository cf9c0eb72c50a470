// profile_run.hpp - a program launched a few times, for a profiler around the process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/fields_fwd.hpp"
#include "base/result.hpp"
#include "evaluate/messages.hpp"
#include "problem/problem.hpp"

namespace fatune {

/// What the process that ncu starts is to do. It checks nothing: profile what passed the gates.
struct ProfileJob {
  int device = 0;
  Problem problem;
  std::optional<OwnPlan> own = {};  ///< of an operation of one's own: its tensors
  Program program;
  int warm_ups = 3;         ///< passes before the profiler looks at one
  std::uint64_t seed = 42;  ///< of the inputs
};
void fields(ProfileJob& x, FieldList& f);

/// Body of the hidden `fatune profile-worker JOB.json` command. Returns the exit code.
int profile_worker_main(std::span<const std::string> args);

}  // namespace fatune
