// text.cpp: Writes figures, curve and table of trials for a terminal.
#include "evolve/report/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/units.hpp"

namespace fatune {
namespace {

std::string times(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}x", *ratio) : "-";
}

std::string share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-" : percent(static_cast<double>(part) / static_cast<double>(whole));
}

/// Returns at most `most` bytes of the first line, without cutting a character.
std::string beginning(const std::string& text, std::size_t most) {
  std::size_t end = std::min(text.find('\n'), text.size());
  if (end <= most) return text.substr(0, end);
  constexpr unsigned kContinues = 0x80, kMask = 0xC0;
  for (end = most; end > 0 && (static_cast<unsigned char>(text[end]) & kMask) == kContinues;) --end;
  return text.substr(0, end) + "...";
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
  for (const Trial& trial : document.trials) most = std::max(most, trial.best.value_or(1));
  if (document.trials.size() < 2 || most < 1.005) return "";
  std::string text = "best so far\n";
  for (int row = kRows; row >= 0; --row) {
    const double level = std::pow(most, static_cast<double>(row) / kRows);
    text += fmt::format("{:>7.2f}x |", level);
    for (const Trial& trial : document.trials) {
      const double height = kRows * std::log(trial.best.value_or(1)) / std::log(most);
      text += std::lround(height) == row ? (trial.valid() ? "*" : "-") : " ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text +
         fmt::format("         t0 to t{}; * passed, - did not\n", document.trials.back().number);
}

std::string trials_text(const EvolutionDocument& document, const Paint& paint) {
  Table table({"trial", "verdict", ">speed-up", ">gain", ">best", "of", {"lever", 1}, {"why", 2}});
  for (const Trial& trial : document.trials) {
    const std::string why = trial.reason.empty() ? trial.thought : trial.reason;
    table.add({trial.id(), trial.verdict, times(trial.speedup), times(trial.gain),
               times(trial.best), join(trial.parents, " "), trial.lever, beginning(why, 120)});
  }
  return table.text(paint.columns());
}

std::string duels_text(const EvolutionDocument& document, const Paint& paint) {
  if (document.duels.empty()) return "";
  Table table({"problem", ">start", ">best", ">speed-up", "95 % interval", {"time", 1}});
  for (const auto& [id, duel] : document.duels) {
    const auto us = [](const std::optional<double>& value) {
      return value ? describe(Micros(*value)) : std::string("-");
    };
    const std::string interval =
        duel.speedup ? fmt::format("{:.2f} to {:.2f}", duel.speedup->low, duel.speedup->high)
                     : duel.reason;
    table.add({duel.problem, us(duel.start_us), us(duel.best_us),
               duel.speedup ? fmt::format("{:.2f}x", duel.speedup->value) : "-", interval,
               duel.time ? std::string(name(*duel.time)) : ""});
  }
  return "\n" + table.text(paint.columns());
}

}  // namespace

std::string trial_line(const Trial& trial) {
  std::string text = fmt::format("{} {}", trial.id(), trial.verdict);
  if (trial.speedup) text += " " + times(trial.speedup);
  if (!trial.lever.empty()) text += " " + trial.lever;
  const std::string why = trial.reason.empty() ? trial.thought : trial.reason;
  return why.empty() ? text : text + ": " + beginning(why, 160);
}

std::string evolution_text(const EvolutionDocument& document, const Paint& paint) {
  const EvolutionPlan& plan = document.run.plan;
  std::string problems;
  for (const NamedProblem& problem : plan.problems)
    problems += (problems.empty() ? "" : "; ") + label(problem);
  std::string text = fmt::format("evolve {} from {}, {}{}\n", name(plan.mode), plan.kernel,
                                 problems, document.complete ? "" : " (not complete)");
  if (document.run.recorded) text += "recorded: every number was measured earlier\n";
  text = paint.fitted(text) + "\n" + figures_text(document, paint);
  const std::string curve = curve_text(document);
  if (!curve.empty()) text += "\n" + curve;
  return text + "\n" + trials_text(document, paint) + duels_text(document, paint);
}

}  // namespace fatune
