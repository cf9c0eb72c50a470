// report.cpp: Sums up the trials of a run, and writes figures, curve and table for a terminal.
#include "evolve/report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"

namespace fatune {
namespace {

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

std::string times(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}x", *ratio) : "-";
}

std::string share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-" : percent(static_cast<double>(part) / static_cast<double>(whole));
}

/// Returns at most `most` bytes of the first line, without cutting a character.
std::string beginning(const std::string& text, std::size_t most) {
  const std::string line = text.substr(0, text.find('\n'));
  return line.size() <= most ? line : std::string(head(line, most)) + "...";
}

std::string validity_text(const EvolutionFigures& figures) {
  if (!figures.valid) {
    return fmt::format("compiled  {} of {} trials ({}); no gate ran\n", figures.compiled,
                       figures.trials, share(figures.compiled, figures.trials));
  }
  return fmt::format("validity  {} of {} trials passed every gate ({}); {} compiled\n",
                     *figures.valid, figures.trials, share(*figures.valid, figures.trials),
                     share(figures.compiled, figures.trials));
}

std::string figures_text(const EvolutionDocument& document, const Paint& paint) {
  const EvolutionFigures& figures = document.figures;
  std::string text;
  const std::string speedup =
      figures.speedup ? fmt::format("{} over the start ({})", times(figures.speedup), figures.best)
                      : "nothing was timed";
  text += paint(Tone::kStrong, "speed-up  " + speedup) + "\n";
  if (figures.final_speedup)
    text += fmt::format("final     {} in the same rounds\n", times(figures.final_speedup));
  text += validity_text(figures);
  text += fmt::format("tuning    {} configs of templates\n", figures.evaluations);
  if (figures.usage.tokens() > 0 || figures.usage.cost > 0) {
    text += fmt::format("tokens    {} in, {} out, cost {:.4g}\n", figures.usage.prompt_tokens,
                        figures.usage.completion_tokens, figures.usage.cost);
  }
  return text;
}

/// Draws the best so far, one column per trial; the height is the logarithm of the speed-up.
std::string curve_text(const EvolutionDocument& document) {
  constexpr int kRows = 6;
  double most = 1;
  for (const Trial& trial : document.run.trials) most = std::max(most, trial.best.value_or(1));
  if (document.run.trials.size() < 2 || most < 1.005) return "";
  std::string text = "best so far\n";
  for (int row = kRows; row >= 0; --row) {
    const double level = std::pow(most, static_cast<double>(row) / kRows);
    text += fmt::format("{:>7.2f}x |", level);
    for (const Trial& trial : document.run.trials) {
      const double height = kRows * std::log(trial.best.value_or(1)) / std::log(most);
      text += std::lround(height) == row ? (trial.valid() ? "*" : "-") : " ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text + fmt::format("         t0 to t{}; * passed, - did not\n",
                            document.run.trials.back().number);
}

std::string trials_text(const EvolutionDocument& document, const Paint& paint) {
  Table table({"trial", "verdict", ">speed-up", ">gain", ">best", "of", {"lever", 1}, {"why", 2}});
  for (const Trial& trial : document.run.trials) {
    const std::string why = trial.reason.empty() ? trial.thought : trial.reason;
    table.add({trial.id(), trial.verdict, times(trial.speedup), times(trial.gain),
               times(trial.best), join(trial.parents, " "), trial.lever, beginning(why, 120)});
  }
  return table.text(paint.columns());
}

std::string duels_text(const EvolutionDocument& document, const Paint& paint) {
  if (document.run.duels.empty()) return "";
  Table table({"problem", ">start", ">best", ">speed-up", "95 % interval", {"time", 1}});
  for (const auto& [id, duel] : document.run.duels) {
    const auto us = [](const std::optional<double>& value) {
      return value ? describe(Micros(*value)) : std::string("-");
    };
    const std::string interval =
        duel.speedup ? fmt::format("{:.2f} to {:.2f}", duel.speedup->low, duel.speedup->high)
                     : duel.reason;
    table.add({duel.problem, us(duel.start_us), us(duel.best_us),
               duel.speedup ? times(duel.speedup->value) : "-", interval,
               duel.time ? std::string(name(*duel.time)) : ""});
  }
  return "\n" + table.text(paint.columns());
}

}  // namespace

EvolutionDocument evolution_document(Ledger ledger, DocumentHead head) {
  EvolutionDocument document;
  document.figures = figures_of(ledger);
  document.head = std::move(head);
  document.head.recorded = ledger.header.recorded;
  document.run = std::move(ledger);
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
  f("plan", x.run.header.plan).required();
  f.as<&device_fields>("device", x.run.header.environment);
  f("complete", x.run.complete);
  f("figures", x.figures).required();
  f("trials", x.run.trials).required();
  f("finals", x.run.duels).omitted();
}

std::string trial_line(const Trial& trial) {
  std::string text = fmt::format("{} {}", trial.id(), trial.verdict);
  if (trial.speedup) text += " " + times(trial.speedup);
  if (!trial.lever.empty()) text += " " + trial.lever;
  const std::string why = trial.reason.empty() ? trial.thought : trial.reason;
  return why.empty() ? text : text + ": " + beginning(why, 160);
}

std::string evolution_text(const EvolutionDocument& document, const Paint& paint) {
  const EvolutionPlan& plan = document.run.header.plan;
  std::string problems;
  for (const NamedProblem& problem : plan.problems)
    problems += (problems.empty() ? "" : "; ") + label(problem);
  std::string text = fmt::format("evolve {} from {}, {}{}\n", name(plan.mode), plan.kernel,
                                 problems, document.run.complete ? "" : " (not complete)");
  if (document.run.header.recorded) text += "recorded: every number was measured earlier\n";
  text = paint.fitted(text) + "\n" + figures_text(document, paint);
  const std::string curve = curve_text(document);
  if (!curve.empty()) text += "\n" + curve;
  return text + "\n" + trials_text(document, paint) + duels_text(document, paint);
}

}  // namespace fatune
