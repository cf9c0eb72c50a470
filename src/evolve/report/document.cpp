// document.cpp: Sums up the trials of a run.
#include "evolve/report/document.hpp"

#include <utility>

#include "core/fields.hpp"
#include "model/results/statistics.hpp"

namespace fatune {

EvolutionFigures figures_of(const Ledger& ledger) {
  EvolutionFigures figures;
  std::int64_t valid = 0;
  for (const Trial& trial : ledger.trials) {
    for (const ShapeTrial& shape : trial.shapes) figures.evaluations += shape.evaluations;
    if (trial.number == 0) continue;
    ++figures.trials;
    figures.proposed += trial.key.empty() ? 0 : 1;
    figures.compiled += trial.compiled() ? 1 : 0;
    valid += trial.valid() ? 1 : 0;
    figures.usage.prompt_tokens += trial.usage.prompt_tokens;
    figures.usage.completion_tokens += trial.usage.completion_tokens;
    figures.usage.cost += trial.usage.cost;
  }
  for (const Trial& trial : ledger.trials) {
    const bool better = trial.speedup && (!figures.speedup || *trial.speedup > *figures.speedup);
    if (!better || trial.verdict == verdict::kDiscarded) continue;
    figures.speedup = trial.speedup;
    figures.best = trial.id();
  }
  if (figures.speedup) figures.valid = valid;  // a trial with times has passed the gates
  std::vector<double> ratios;
  for (const DuelRecord& record : ledger.duels) {
    if (record.duel.speedup) ratios.push_back(record.duel.speedup->value);
  }
  if (ratios.size() == ledger.header.plan.problems.size()) figures.final_speedup = geomean(ratios);
  return figures;
}

EvolutionDocument evolution_document(Ledger ledger, DocumentHead head) {
  EvolutionDocument document;
  document.figures = figures_of(ledger);
  document.head = std::move(head);
  document.head.recorded = ledger.header.recorded;
  document.run = std::move(ledger.header);
  document.trials = std::move(ledger.trials);
  document.duels = std::move(ledger.duels);
  document.complete = ledger.complete;
  return document;
}

void fields(EvolutionFigures& x, FieldList& f) {
  f.record("evolution_figures", "Both figures of merit, and what they cost");
  f("trials", x.trials).about("The start aside");
  f("proposed", x.proposed).about("Answers that were kernels");
  f("compiled", x.compiled);
  f("valid", x.valid).about("Passed every gate on every problem; absent: no gate ran");
  f.derived("validity", x.validity()).about("valid over trials");
  f.derived("compile_rate", x.compile_rate()).about("compiled over trials");
  f("evaluations", x.evaluations).about("Configs that were tried");
  f("best", x.best).omitted();
  f("speedup", x.speedup).about("Of the best over the start, from the trials");
  f("final_speedup", x.final_speedup).about("The same of the rounds at the end");
  f("usage", x.usage);
}

void fields(EvolutionDocument& x, FieldList& f) {
  f.record("evolution", "What a run of `fatune evolve` tried and found");
  f.document("fatune.evolution");
  document::head_fields(x.head, f);
  f("plan", x.run.plan).required();
  f.as<&device_fields>("device", x.run.environment);
  f("complete", x.complete);
  f("figures", x.figures).required();
  f("trials", x.trials).required();
  f("finals", x.duels).omitted();
}

}  // namespace fatune
