// sweep_on_devices.hpp - a suite on several devices at once: a process and a shard for each
// problem.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/suite_parts.hpp"
#include "cli/options/settings.hpp"
#include "cli/options/sweep_plan.hpp"
#include "core/result.hpp"

namespace fatune::cli {

/// Deals the plan's problems to the devices as they become free, merges their runs to one in its
/// folder, and prints it. Problems that ended in an earlier call with that folder are not swept
/// again.
Result<int> sweep_on_devices(const std::vector<std::string>& devices, const PlannedSuite& planned,
                             const SweepArgs& args, const Settings& settings);

}  // namespace fatune::cli
