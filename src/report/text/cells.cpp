// cells.cpp: Formats times with the number of digits that their intervals support.
#include "report/text/cells.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

std::string interval_text(double low, double high, int decimals) {
  return "[" + fixed(low, decimals) + ", " + fixed(high, decimals) + "]";
}

int decimals_for(double time_us) {
  if (!(time_us > 0 && std::isfinite(time_us))) return 2;
  return std::clamp(3 - static_cast<int>(std::floor(std::log10(time_us))), 0, 4);
}

std::string median_cell(const std::optional<Timing>& timing) {
  return timing ? fixed(timing->median_us, decimals_for(timing->median_us)) : "-";
}

std::string interval_cell(const std::optional<Timing>& timing) {
  if (!timing || !timing->ci95_low_us || !timing->ci95_high_us) return "-";
  return interval_text(*timing->ci95_low_us, *timing->ci95_high_us,
                       decimals_for(timing->median_us));
}

std::string ratio_cell(const std::optional<Ratio>& ratio) {
  return ratio ? fixed(ratio->value, kRatioDecimals) : "-";
}

std::string ratio_interval_cell(const std::optional<Ratio>& ratio) {
  return ratio ? interval_text(ratio->low, ratio->high, kRatioDecimals) : "-";
}

std::string rate_text(const Problem& problem, const Timing& timing) {
  const Seconds time = to_seconds(Micros(timing.median_us));
  const double rate =
      counts_flops(problem) ? (flops(problem) / time).value : gigabytes_per_second(problem, time);
  return fixed(rate, rate < 100 ? 1 : 0);
}

std::string rate_cell(const FinalRecord& record) {
  const std::optional<Timing>& timing = record.rated_time();
  return timing ? rate_text(record.problem, *timing) : "-";
}

std::vector<TimeColumn> time_columns(const std::vector<FinalRecord>& rows, Objective objective) {
  const auto any = [&](auto&& has) { return std::ranges::any_of(rows, has); };
  const auto has = [&](Time time) {
    return any([&](const FinalRecord& row) { return timing_of(row, time).has_value(); });
  };
  const bool plain = has(Time::kPlain);
  const bool chained = any([](const FinalRecord& row) {
    return row.hot && row.plain && row.hot->median_us != row.plain->median_us;
  });
  std::vector<TimeColumn> columns;
  const auto add = [&](bool wanted, Time time, const std::string& word) {
    if (wanted) columns.push_back({time, word + " us"});
  };
  add(has(Time::kInLayer), Time::kInLayer, "in layer");
  add(plain, Time::kPlain, "plain");
  add(!plain || chained, Time::kHot, plain ? "chained" : "hot");
  add(has(Time::kCold) || !plain, Time::kCold, "cold");
  const auto lead = std::ranges::find(columns, final_time(rows, objective), &TimeColumn::time);
  if (lead != columns.end()) std::rotate(columns.begin(), lead, lead + 1);
  return columns;
}

std::vector<Column> time_heads(const std::vector<TimeColumn>& times) {
  std::vector<Column> heads;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const int place = static_cast<int>(i);
    heads.emplace_back(">" + times[i].title, i == 0 ? 0 : i == 1 ? 2 : 5 + place);
    heads.emplace_back(">95 %", i == 0 ? kLastSpare : 10 + place);
  }
  return heads;
}

std::vector<std::string> time_cells(const FinalRecord& row, const std::vector<TimeColumn>& times) {
  std::vector<std::string> cells;
  for (const TimeColumn& each : times) {
    cells.push_back(median_cell(timing_of(row, each.time)));
    cells.push_back(interval_cell(timing_of(row, each.time)));
  }
  return cells;
}

std::string rate_name(const Problem& problem) { return counts_flops(problem) ? "TFLOP/s" : "GB/s"; }

std::string device_text(const Environment& environment) {
  return environment.device_name + " (" + name(environment.limits.arch) +
         (environment.recorded ? ", recorded)" : ")");
}

std::string disturbance(int other_processes) {
  const std::string who =
      other_processes == 1 ? "another process" : fmt::format("{} other processes", other_processes);
  return who + " computed on the GPU during the final phase";
}

std::string decision_text(bool passed, const Paint& paint) {
  return passed ? paint(Tone::kGood, "pass") : paint(Tone::kBad, "fail");
}

}  // namespace fatune
