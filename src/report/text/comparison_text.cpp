// comparison_text.cpp: Lays out the tables of a bench and of a gate.
#include "report/text/comparison_text.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "report/text/cells.hpp"
#include "tune/sweep/comparison.hpp"

namespace fatune {
namespace {

std::string impl_cell(const FinalRecord& row) {
  return row.impl + (row.role == RowRole::kDefault ? " (default)" : "");
}

/// Returns p05, p25, p75 and p95; the median has its own column.
std::vector<std::string> quantile_cells(const std::vector<double>& rounds_us) {
  if (rounds_us.empty()) return {"-", "-", "-", "-"};
  const Quantiles q = quantiles(rounds_us);
  std::vector<std::string> cells;
  for (const double value : {q.p05, q.p25, q.p75, q.p95})
    cells.push_back(fixed(value, decimals_for(q.p50)));
  return cells;
}

std::vector<std::string> bench_cells(const FinalRecord& row, std::vector<TimeColumn> times) {
  const bool measured = row.is_timed();
  const Time lead = times.front().time;
  const auto& timing = timing_of(row, lead);
  std::vector<std::string> line = {impl_cell(row), measured ? median_cell(timing) : "-",
                                   interval_cell(timing)};
  for (std::string& cell : quantile_cells(rounds_of(row, lead))) line.push_back(std::move(cell));
  line.push_back(timing ? fmt::to_string(timing->samples) : "-");
  times.erase(times.begin());
  for (std::string& cell : time_cells(row, times)) line.push_back(std::move(cell));
  line.push_back(measured ? rate_cell(row) : "-");
  line.push_back(std::string(name(row.outcome)));
  return line;
}

/// Returns "1980 MHz" or "1755 to 1980 MHz".
std::string clock_range(const Conditions& seen) {
  const std::string high = fmt::format("{} MHz", seen.sm_clock_mhz_max);
  if (seen.sm_clock_mhz_min == seen.sm_clock_mhz_max) return high;
  return fmt::format("{} to {}", seen.sm_clock_mhz_min, high);
}

std::string conditions_line(const Conditions& seen) {
  std::string text =
      fmt::format("clocks {}, memory {} MHz; up to {} C, {:.0f} W; ", clock_range(seen),
                  seen.memory_clock_mhz, seen.temperature_c, seen.power_w);
  const auto reasons = throttle_names(seen.throttle_reasons);
  text += reasons.empty() ? "no throttling" : "throttled by " + join(reasons, ", ");
  text += fmt::format("; {} rounds discarded", seen.discarded_samples);
  return seen.other_processes > 0 ? text + "; " + disturbance(seen.other_processes) : text;
}

/// Describes each distinct set of conditions; a recording may mix several in one final phase.
std::string conditions_text(const std::vector<FinalRecord>& rows) {
  std::vector<std::string> lines;
  for (const FinalRecord& row : rows) {
    if (!row.conditions) continue;
    std::string line = conditions_line(*row.conditions);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  return lines.empty() ? "" : join(lines, "\n") + "\n";
}

std::string time_text(const Timing& timing) {
  const std::string text = median_cell(timing) + " us hot";
  return timing.ci95_low_us ? text + " " + interval_cell(timing) : text;
}

/// Compares the measured time with the config file's time. A recording confirms nothing.
std::string confirmation_text(const Confirmation& c, bool recorded) {
  if (recorded) {
    return fmt::format("{}: {} there, {} in the recording; nothing was measured now\n", c.file,
                       time_text(c.then), time_text(c.now));
  }
  const std::string change = percent(std::abs(c.now.median_us / c.then.median_us - 1));
  const bool moved = c.verdict == "faster" || c.verdict == "slower";
  std::string text = moved                  ? "does not confirm "
                     : c.verdict == "close" ? "agrees with "
                                            : "confirms ";
  text += c.file + ": " + time_text(c.then) + " then, " + time_text(c.now) + " now";
  if (moved) text += ", " + change + " " + c.verdict;
  if (c.verdict == "close")
    text += ", " + change + " apart, as two runs can be (docs/measuring.md)";
  text += "\n";
  for (const std::string& difference : c.differences) text += "  " + difference + "\n";
  if (c.differences.empty() && moved)
    text += "  nothing that is recorded differs; is the machine quiet? fatune doctor\n";
  return text;
}

std::string problem_text(const BenchProblem& problem, const Paint& paint) {
  std::string text = label(problem.problem) + "\n";
  if (!problem.reason.empty()) return text + "not measured: " + problem.reason + "\n";
  const std::vector<TimeColumn> times = time_columns(problem.rows, Objective::kInLayer);
  std::vector<Column> heads = time_heads(times);
  const std::vector<Column> quantiles = {
      {">p05", 3}, {">p25", 5}, {">p75", 5}, {">p95", 3}, {">n", 1}};
  heads.insert(heads.begin() + 2, quantiles.begin(), quantiles.end());
  heads.insert(heads.begin(), "implementation");
  heads.push_back(">" + rate_name(problem.problem.problem));
  heads.push_back("outcome");
  Table table(std::move(heads));
  std::vector<std::string> notes;
  for (const FinalRecord& row : problem.rows) {
    table.add(bench_cells(row, times));
    if (!row.config.empty()) notes.push_back(impl_cell(row) + " " + describe_config(row.config));
    if (!row.detail.empty()) notes.push_back(impl_cell(row) + " " + row.detail);
    if (!row.reason.empty()) notes.push_back(impl_cell(row) + ": " + row.reason);
  }
  text += table.text(paint.columns());
  for (const std::string& note : notes) text += paint.fitted("  " + note);
  text += paint.fitted(conditions_text(problem.rows));
  return problem.confirmation ? text + paint.fitted(confirmation_text(
                                           *problem.confirmation, problem.rows.front().recorded))
                              : text;
}

/// Returns a text such as "cudnn" or "fatune:fa_mma (saved in main.json, recorded)".
std::string baseline_cell(const GateRow& row) {
  std::string text = row.baseline.impl;
  if (!row.source.empty())
    text += fmt::format(" (saved in {}{})", row.source, row.baseline.recorded ? ", recorded" : "");
  return text;
}

std::string comparison_cell(const GateRow& row) {
  if (row.ratio) return row.comparison;
  const Outcome outcome = row.baseline.outcome;
  return outcome == Outcome::kMeasured ? "not compared" : std::string(name(outcome));
}

/// Nothing is decided without a ratio.
std::string pass_cell(const GateRow& row, const GateResult& result) {
  if (row.passed) return "pass";
  return has_answer(result) ? "FAIL" : "-";
}

std::string decision(const GateResult& result, const Paint& paint) {
  return has_answer(result) ? decision_text(result.passed, paint)
                            : paint(Tone::kWarn, "not decided");
}

std::string candidate_line(const GateProblem& problem, const GateResult& result) {
  const FinalRecord& candidate = problem.candidate;
  const auto& timing = timing_of(candidate, problem.time);
  std::string text = label(problem.problem) + " on " + device_text(result.environment) + "\n";
  if (!problem.reason.empty()) return text + "not measured: " + problem.reason + "\n";
  text += "candidate: " + candidate.impl;
  if (!candidate.config.empty()) text += " " + describe_config(candidate.config);
  if (candidate.outcome != Outcome::kMeasured)
    return text + ": " + std::string(name(candidate.outcome)) + "\n";
  return text + ", " + median_cell(timing) + " us " + describe(problem.time) + " " +
         interval_cell(timing) + "\n";
}

std::string problem_text(const GateProblem& problem, const GateResult& result, const Paint& paint) {
  std::string text = paint.fitted(candidate_line(problem, result));
  Table table({"baseline",
               ">" + describe(problem.time) + " us",
               {">95 %", 2},
               ">ratio",
               ">95 %",
               "candidate is",
               {"verdict", 1},
               "gate"});
  std::string reasons;
  for (const GateRow& row : problem.rows) {
    const auto& timing = timing_of(row.baseline, problem.time);
    table.add({baseline_cell(row), median_cell(timing), interval_cell(timing),
               ratio_cell(row.ratio), ratio_interval_cell(row.ratio), comparison_cell(row),
               row.verdict.empty() ? "-" : row.verdict,
               paint(row.passed ? Tone::kGood : Tone::kBad, pass_cell(row, result))});
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
    text += fmt::format("x {}, geometric mean of {}: {}\n", mean.baseline,
                        counted(mean.problems, "problem"), fixed(mean.ratio, kRatioDecimals));
  }
  return text;
}

}  // namespace

std::string bench_text(const BenchResult& result, const Paint& paint) {
  std::string text;
  for (const BenchProblem& problem : result.problems) text += problem_text(problem, paint) + "\n";
  return text;
}

std::string gate_report(const GateResult& result, const Paint& paint) {
  std::string text;
  for (const GateProblem& problem : result.problems)
    text += problem_text(problem, result, paint) + "\n";
  if (result.problems.size() > 1) text += means_text(result);
  return text + "Gate: " + decision(result, paint) + " (" + limit_text(result) + ")\n";
}

std::string gate_markdown(const GateResult& result) {
  const bool apart = std::ranges::any_of(result.problems, [](const GateProblem& problem) {
    return std::ranges::any_of(problem.rows,
                               [](const GateRow& row) { return !row.source.empty(); });
  });
  std::string text = fmt::format("### fatune gate: {}\n\n{}, driver {}, {} rounds{}; {}.\n\n",
                                 result.passed        ? "pass"
                                 : has_answer(result) ? "**fail**"
                                                      : "not decided",
                                 markdown_text(device_text(result.environment)),
                                 markdown_text(result.environment.driver), result.rounds,
                                 apart ? "" : ", interleaved", limit_text(result));
  const Time first = result.problems.empty() ? result.objective : result.problems[0].time;
  const std::string time_title = ">" + describe(first) + " us";
  Table table({"problem", "candidate", time_title, "baseline", time_title, ">ratio", ">95 %",
               "candidate is", "gate"});
  std::string reasons;
  for (const GateProblem& problem : result.problems) {
    const std::string name = label(problem.problem);
    const auto line = [&](const std::string& reason) {
      return "- " + markdown_text(name) + ": " + markdown_text(reason) + "\n";
    };
    const auto& time = timing_of(problem.candidate, problem.time);
    for (const GateRow& row : problem.rows) {
      table.add({name, problem.candidate.impl, median_cell(time), baseline_cell(row),
                 median_cell(timing_of(row.baseline, problem.time)), ratio_cell(row.ratio),
                 ratio_interval_cell(row.ratio), comparison_cell(row), pass_cell(row, result)});
      if (!row.ratio) reasons += line(row.reason);
    }
    if (!problem.reason.empty()) reasons += line(problem.reason);
  }
  text += table.markdown();
  if (!reasons.empty()) text += "\nNot compared:\n\n" + reasons;
  return text + "\n" + markdown_code(result.command) + "\n";
}

}  // namespace fatune
