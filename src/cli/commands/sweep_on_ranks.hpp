// sweep_on_ranks.hpp: Sweeps a suite on the devices of processes that MPI's launcher started.
#pragma once

#include "cli/options/settings.hpp"
#include "cli/options/sweep_plan.hpp"
#include "core/result.hpp"

namespace fatune::cli {

/// Rank 0 hands out the plan's problems, keeps the journal, and prints the result. Other ranks
/// serve it.
Result<int> sweep_on_ranks(int launched, const SweepArgs& args, const Settings& settings);

}  // namespace fatune::cli
