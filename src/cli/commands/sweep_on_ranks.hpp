// sweep_on_ranks.hpp - a suite on the devices of several processes that MPI's launcher started, on
// as many hosts.
#pragma once

#include <functional>

#include "cli/commands/suite_parts.hpp"
#include "cli/options/settings.hpp"
#include "cli/options/sweep_plan.hpp"
#include "core/result.hpp"

namespace fatune::cli {

/// Rank 0 deals the plan's problems, keeps their journals, and merges and prints the result; the
/// others serve it. `plan` is asked on rank 0 alone.
Result<int> sweep_on_ranks(int launched, const SweepArgs& args,
                           const std::function<Result<PlannedSuite>()>& plan,
                           const Settings& settings);

}  // namespace fatune::cli
