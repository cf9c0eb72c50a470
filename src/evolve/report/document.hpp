// document.hpp - a ledger to what a run adds up to: fatune.evolution/1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "evolve/run/ledger.hpp"
#include "model/results/document.hpp"

namespace fatune {

/// Both figures of merit, and what they cost.
struct EvolutionFigures {
  std::int64_t trials = 0;            ///< the start aside
  std::int64_t proposed = 0;          ///< answers that were kernels
  std::int64_t compiled = 0;          ///< on every problem that was asked
  std::optional<std::int64_t> valid;  ///< passed every gate; empty: none ran, without a GPU
  std::int64_t evaluations = 0;
  std::optional<double> speedup;        ///< of the best over the start, from the trials
  std::optional<double> final_speedup;  ///< the same of the rounds at the end, geomean
  std::string best;                     ///< its id
  ProposerUsage usage;

  std::optional<double> validity() const {
    if (!valid) return std::nullopt;
    return of_trials(*valid);
  }
  double compile_rate() const { return of_trials(compiled); }

 private:
  double of_trials(std::int64_t count) const {
    return trials == 0 ? 0 : static_cast<double>(count) / static_cast<double>(trials);
  }
};

struct EvolutionDocument {
  DocumentHead head;
  LedgerHeader run;
  EvolutionFigures figures;
  std::vector<Trial> trials;
  std::vector<DuelRecord> duels;
  bool complete = false;
};
void fields(EvolutionFigures& x, FieldList& f);
void fields(EvolutionDocument& x, FieldList& f);

EvolutionFigures figures_of(const Ledger& ledger);
EvolutionDocument evolution_document(Ledger ledger, DocumentHead head);

}  // namespace fatune
