// evolution.hpp - a start, a proposer and a bench to the trials of a run and its best kernel.
#pragma once

#include <filesystem>
#include <functional>

#include "core/result.hpp"
#include "evolve/proposers/proposer.hpp"
#include "evolve/protocol/draft.hpp"
#include "evolve/run/ledger.hpp"
#include "evolve/trial/bench.hpp"

namespace fatune {

struct EvolutionOptions {
  EvolutionPlan plan;
  std::filesystem::path out;
  bool resume = false;    ///< go on with what `out` holds
  bool recorded = false;  ///< the bench is a recording
  std::function<void(const Trial&)> on_trial;
};

/// FOLDER holds ledger.jsonl and transcript.jsonl, each line there as soon as it is known, and
/// kernels/ID of what passed, for --kernel-dir. A trial has EvoEngineer's five steps: propose,
/// compile, check, time, select. A start that does not pass is a usage error; an interrupt is one
/// of its kind, and the run can be resumed.
Result<Ledger> run_evolution(const EvolutionOptions& options, const Draft& start,
                             Proposer& proposer, Bench& bench);

}  // namespace fatune
