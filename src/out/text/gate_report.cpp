// gate_report.cpp - one row for each baseline; the word is the interval's, the decision is the
// threshold's.
#include "out/text/gate_report.hpp"

#include <fmt/core.h>

#include "core/text.hpp"
#include "out/text/cells.hpp"
#include "out/text/table.hpp"

namespace fatune {
namespace {

std::string device(const Environment& environment) {
  return environment.device_name + " (" + name(environment.limits.arch) +
         (environment.recorded ? ", recorded)" : ")");
}

/// "cudnn", "external:fa3 (external)", "fatune:fa_mma (saved in main.json)".
std::string baseline_cell(const GateRow& row) {
  std::string text = row.baseline.impl;
  if (row.baseline.external) text += " (external)";
  if (!row.source.empty()) text += " (saved in " + row.source + ")";
  return text;
}

std::string ratio_cell(const GateRow& row) {
  return row.ratio ? fixed(row.ratio->value, kRatioDecimals) : "-";
}

std::string ratio_interval_cell(const GateRow& row) {
  return row.ratio ? interval_text(row.ratio->low, row.ratio->high, kRatioDecimals) : "-";
}

std::string comparison_cell(const GateRow& row) {
  if (row.ratio) return row.comparison;
  const Outcome outcome = row.baseline.outcome;
  return outcome == Outcome::kMeasured ? "not compared" : std::string(name(outcome));
}

std::string pass_cell(bool passed) { return passed ? "pass" : "FAIL"; }

std::string candidate_line(const GateProblem& problem, const GateResult& result) {
  const FinalRecord& candidate = problem.candidate;
  const auto& timing = objective_timing(candidate, result.objective);
  std::string text = label(problem.problem) + " on " + device(result.environment) + "\n";
  if (!problem.reason.empty()) return text + "not measured: " + problem.reason + "\n";
  text += "candidate: " + candidate.impl;
  if (!candidate.config.empty()) text += " " + describe_config(candidate.config);
  if (candidate.outcome != Outcome::kMeasured)
    return text + ": " + std::string(name(candidate.outcome)) + "\n";
  return text + ", " + median_cell(timing) + " us " + result.objective + " " +
         interval_cell(timing) + "\n";
}

std::string problem_text(const GateProblem& problem, const GateResult& result, const Paint& paint) {
  std::string text = paint.fitted(candidate_line(problem, result));
  Table table({{"baseline"},
               {result.objective + " us", Align::kRight},
               {"95 %", Align::kRight, 2},
               {"ratio", Align::kRight},
               {"95 %", Align::kRight},
               {"candidate is"},
               {"verdict", Align::kLeft, 1},
               {"gate"}});
  std::string reasons;
  for (const GateRow& row : problem.rows) {
    const auto& timing = objective_timing(row.baseline, result.objective);
    table.add({baseline_cell(row), median_cell(timing), interval_cell(timing), ratio_cell(row),
               ratio_interval_cell(row), comparison_cell(row),
               row.verdict.empty() ? "-" : row.verdict,
               paint(row.passed ? Tone::kGood : Tone::kBad, pass_cell(row.passed))});
    if (!row.ratio) reasons += row.reason + "\n";
  }
  if (!table.empty()) text += table.text(paint.columns());
  return reasons.empty() ? text : text + paint.fitted(reasons);
}

std::string limit_text(const GateResult& result) {
  return "the whole 95 % interval of candidate/baseline must be below " +
         fixed(result.threshold, 2);
}

std::string means_text(const GateResult& result) {
  std::string text;
  for (const GateMean& mean : result.means) {
    text +=
        fmt::format("x {}, geometric mean of {} {}: {}\n", mean.baseline, mean.problems,
                    mean.problems == 1 ? "problem" : "problems", fixed(mean.ratio, kRatioDecimals));
  }
  return text;
}

}  // namespace

std::string gate_report(const GateResult& result, const Paint& paint) {
  std::string text;
  for (const GateProblem& problem : result.problems)
    text += problem_text(problem, result, paint) + "\n";
  if (result.problems.size() > 1) text += means_text(result);
  const std::string decision =
      result.passed ? paint(Tone::kGood, "pass") : paint(Tone::kBad, "fail");
  return text + "Gate: " + decision + " (" + limit_text(result) + ")\n";
}

std::string gate_markdown(const GateResult& result) {
  std::string text =
      fmt::format("### fatune gate: {}\n\n{}, driver {}, {} interleaved rounds; {}.\n\n",
                  result.passed ? "pass" : "**fail**", device(result.environment),
                  result.environment.driver, result.rounds, limit_text(result));
  Table table({{"problem"},
               {"candidate"},
               {result.objective + " us", Align::kRight},
               {"baseline"},
               {result.objective + " us", Align::kRight},
               {"ratio", Align::kRight},
               {"95 %", Align::kRight},
               {"candidate is"},
               {"gate"}});
  std::string reasons;
  for (const GateProblem& problem : result.problems) {
    const std::string name = label(problem.problem);
    const auto& time = objective_timing(problem.candidate, result.objective);
    for (const GateRow& row : problem.rows) {
      table.add({name, problem.candidate.impl, median_cell(time), baseline_cell(row),
                 median_cell(objective_timing(row.baseline, result.objective)), ratio_cell(row),
                 ratio_interval_cell(row), comparison_cell(row), pass_cell(row.passed)});
      if (!row.ratio) reasons += "- " + name + ": " + row.reason + "\n";
    }
    if (!problem.reason.empty()) reasons += "- " + name + ": " + problem.reason + "\n";
  }
  text += table.markdown();
  if (!reasons.empty()) text += "\nNot compared:\n\n" + reasons;
  return text + "\n`" + result.command + "`\n";
}

}  // namespace fatune
