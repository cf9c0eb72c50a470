// sanitize.hpp - a winner to what compute-sanitizer finds in it, at a small awkward problem.
#pragma once

#include <vector>

#include "cli/options/device_choice.hpp"
#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/results/measurement.hpp"

namespace fatune::cli {

/// Runs the config at one of its edge problems under every tool. Whatever keeps it from running, a
/// compute-sanitizer that is not installed or a recorded device, is the reason of "not_run".
Result<std::vector<ToolVerdict>> sanitize(const Candidate& candidate, const DeviceLimits& limits,
                                          const DeviceChoice& device, const Settings& settings);

}  // namespace fatune::cli
