// asking.hpp: Declares the request for a run's next candidates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "evolve/protocol/request.hpp"
#include "evolve/run/ledger.hpp"
#include "evolve/run/population.hpp"

namespace fatune {

/// Returns I1, which is equal in every request.
Result<ProposalTask> state_task(std::span<const NamedProblem> problems,
                                const Environment& environment);

/// `population` has the trials in the order of their charge; `ask` counts requests from 0.
ProposalRequest make_request(const EvolutionPlan& plan, const ProposalTask& task,
                             const TrialPopulation& population, std::int64_t ask);

}  // namespace fatune
