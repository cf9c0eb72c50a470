// report.hpp: Declares the summary of a run, fatune.evolution/1, and its text for a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "evolve/run/ledger.hpp"
#include "model/results/document.hpp"
#include "report/text/layout.hpp"

namespace fatune {

/// Two figures of merit, and the cost of both.
struct EvolutionFigures {
  std::int64_t trials = 0;            ///< trials without the start
  std::int64_t proposed = 0;          ///< answers that were kernels
  std::int64_t compiled = 0;          ///< compiled on every problem
  std::optional<std::int64_t> valid;  ///< passed every gate; empty if no gate ran, without a GPU
  std::int64_t evaluations = 0;
  std::optional<double> speedup;        ///< speed-up of the best over the start, from the trials
  std::optional<double> final_speedup;  ///< geomean of the same speed-up in the rounds at the end
  std::string best;                     ///< id of the best trial
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
  Ledger run;
  EvolutionFigures figures;
};
void fields(EvolutionFigures& x, FieldList& f);
void fields(EvolutionDocument& x, FieldList& f);

EvolutionDocument evolution_document(Ledger ledger, DocumentHead head);

/// Returns a line such as "t7  elite  1.52x  stage_k: keys through shared memory".
std::string trial_line(const Trial& trial);
std::string evolution_text(const EvolutionDocument& document, const Paint& paint);

}  // namespace fatune
