// evolution.hpp: Declares the evolution of a start kernel by a proposer and a bench.
#pragma once

#include <filesystem>
#include <functional>

#include "core/result.hpp"
#include "evolve/proposers/proposer.hpp"
#include "evolve/protocol/proposal.hpp"
#include "evolve/run/ledger.hpp"
#include "evolve/trial/bench.hpp"

namespace fatune {

struct EvolutionOptions {
  EvolutionPlan plan;
  std::filesystem::path out;
  bool resume = false;    ///< continue the run in `out`
  bool recorded = false;  ///< the bench is a recording
  std::function<void(const Trial&)> on_trial;
};

/// Runs EvoEngineer's five steps per trial: propose, compile, check, time, select. Writes
/// ledger.jsonl, transcript.jsonl and kernels/ID of valid trials, at once. A start that fails is a
/// usage error; an interrupted run can be resumed.
Result<Ledger> run_evolution(const EvolutionOptions& options, const Draft& start,
                             Proposer& proposer, Bench& bench);

}  // namespace fatune
