// take_profile.hpp - a candidate on a GPU to its counters, by this program run under ncu.
#pragma once

#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "tune/compile/pool.hpp"
#include "tune/profile/ncu_run.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune::cli {

/// Machine code from the pool's cache, a job file, ncu around `fatune profile-worker`. No ncu, no
/// permission and no counters are outcomes, not errors.
Result<NcuOutcome> take_profile(const Candidate& candidate, const DeviceLimits& limits, int device,
                                CompilePool& pool, const Settings& settings);

}  // namespace fatune::cli
