// sweep_on_ranks.hpp: Sweeps a suite on the devices of processes that MPI's launcher started.
#pragma once

#include "cli/options/settings.hpp"
#include "cli/options/sweep_plan.hpp"
#include "core/result.hpp"

namespace fatune::cli {

/// Runs rank 0, which distributes the problems, keeps the journal and prints the result, or another
/// rank, which serves rank 0.
Result<int> sweep_on_ranks(int launched, const SweepArgs& args, const Settings& settings);

}  // namespace fatune::cli
