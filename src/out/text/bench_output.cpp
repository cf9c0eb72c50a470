// bench_output.cpp - quantiles come from the rounds, so a row without rounds shows none.
#include "out/text/bench_output.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/problem/suite.hpp"
#include "model/results/statistics.hpp"
#include "model/results/sweep_result.hpp"
#include "out/text/cells.hpp"
#include "out/text/table.hpp"

namespace fatune::cli {
namespace {

std::string impl_cell(const FinalRecord& row) {
  return row.impl + (row.role == "default" ? " (default)" : "") +
         (row.external ? " (external)" : "");
}

/// p05, p25, p75, p95; the median has its own column.
std::vector<std::string> quantile_cells(const std::vector<double>& rounds_us) {
  if (rounds_us.empty()) return {"-", "-", "-", "-"};
  const Quantiles q = quantiles(rounds_us);
  std::vector<std::string> cells;
  for (const double value : {q.p05, q.p25, q.p75, q.p95})
    cells.push_back(fixed(value, decimals_for(q.p50)));
  return cells;
}

std::vector<std::string> cells(const FinalRecord& row) {
  const bool measured = row.outcome == Outcome::kMeasured && row.hot;
  std::vector<std::string> line = {impl_cell(row), measured ? median_cell(row.hot) : "-",
                                   interval_cell(row.hot)};
  for (std::string& cell : quantile_cells(row.hot_rounds_us)) line.push_back(std::move(cell));
  line.push_back(row.hot ? fmt::to_string(row.hot->samples) : "-");
  line.push_back(median_cell(row.cold));
  line.push_back(interval_cell(row.cold));
  line.push_back(measured ? rate_cell(row) : "-");
  line.push_back(std::string(name(row.outcome)));
  return line;
}

/// "1980 MHz" or "1755 to 1980 MHz".
std::string clock_range(const Conditions& seen) {
  const std::string high = fmt::format("{} MHz", seen.sm_clock_mhz_max);
  if (seen.sm_clock_mhz_min == seen.sm_clock_mhz_max) return high;
  return fmt::format("{} to {}", seen.sm_clock_mhz_min, high);
}

std::string describe(const Conditions& seen) {
  std::string text =
      fmt::format("clocks {}, memory {} MHz; up to {} C, {:.0f} W; ", clock_range(seen),
                  seen.memory_clock_mhz, seen.temperature_c, seen.power_w);
  const auto reasons = throttle_names(seen.throttle_reasons);
  text += reasons.empty() ? "no throttling" : "throttled by " + join(reasons, ", ");
  return fmt::format("{}; {} rounds discarded", text, seen.discarded_samples);
}

/// Contestants of one final phase share their conditions; a recording may mix several.
std::string conditions_text(const std::vector<FinalRecord>& rows) {
  std::vector<std::string> lines;
  for (const FinalRecord& row : rows) {
    if (!row.conditions) continue;
    std::string line = describe(*row.conditions);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  return lines.empty() ? "" : join(lines, "\n") + "\n";
}

std::string time_text(const Timing& timing) {
  const std::string text = median_cell(timing) + " us";
  return timing.ci95_low_us ? text + " " + interval_cell(timing) : text;
}

/// What became of the number that the config's file gives. A recording confirms nothing.
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
  Table table({{"implementation"},
               {"hot us", Align::kRight},
               {"95 %", Align::kRight},
               {"p05", Align::kRight, 3},
               {"p25", Align::kRight, 5},
               {"p75", Align::kRight, 5},
               {"p95", Align::kRight, 3},
               {"n", Align::kRight, 1},
               {"cold us", Align::kRight, 2},
               {"95 %", Align::kRight, 4},
               {rate_name(problem.problem.problem), Align::kRight},
               {"outcome"}});
  std::vector<std::string> notes;
  for (const FinalRecord& row : problem.rows) {
    table.add(cells(row));
    if (!row.config.empty()) notes.push_back(impl_cell(row) + " " + describe_config(row.config));
    if (!row.detail.empty()) notes.push_back(impl_cell(row) + " " + row.detail);
    if (!row.reason.empty()) notes.push_back(impl_cell(row) + ": " + row.reason);
  }
  text += table.text(paint.columns());
  for (const std::string& note : notes) {
    text += paint.fitted("  " + note);
  }
  text += paint.fitted(conditions_text(problem.rows));
  return problem.confirmation ? text + paint.fitted(confirmation_text(
                                           *problem.confirmation, problem.rows.front().recorded))
                              : text;
}

}  // namespace

std::string bench_text(const BenchResult& result, const Paint& paint) {
  std::string text;
  for (const BenchProblem& problem : result.problems) text += problem_text(problem, paint) + "\n";
  return text;
}

}  // namespace fatune::cli
