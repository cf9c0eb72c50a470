// cells.hpp: Formats times, intervals, ratios and rates as cells of a table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/results/sweep_result.hpp"
#include "report/text/layout.hpp"

namespace fatune {

inline constexpr int kRatioDecimals = 3;

std::string interval_text(double low, double high, int decimals);  ///< "[9.71, 9.80]"
/// Returns the decimals for four significant digits; intervals support four.
int decimals_for(double time_us);
/// Returns "-" for a missing time.
std::string median_cell(const std::optional<Timing>& timing);
std::string interval_cell(const std::optional<Timing>& timing);
std::string ratio_cell(const std::optional<Ratio>& ratio);
std::string ratio_interval_cell(const std::optional<Ratio>& ratio);
/// Returns the rate of the time in the unit of rate_name().
std::string rate_text(const Problem& problem, const Timing& timing);
/// Returns the rate of plain launches if they were timed, else of hot launches.
std::string rate_cell(const FinalRecord& record);
/// A time column in a table of finals.
struct TimeColumn {
  Time time;
  std::string title;  ///< "in layer us", "plain us", "chained us", "hot us", "cold us"
};
/// Returns the times that any row has, ranking time first; omits hot if it always equals plain.
std::vector<TimeColumn> time_columns(const std::vector<FinalRecord>& rows, Objective objective);
/// Returns heads of medians and intervals; the first time is always shown.
std::vector<Column> time_heads(const std::vector<TimeColumn>& times);
std::vector<std::string> time_cells(const FinalRecord& row, const std::vector<TimeColumn>& times);
/// Returns "TFLOP/s"; "GB/s" of the least bytes if the number of operations is unknown.
std::string rate_name(const Problem& problem);
/// Returns a text such as "NVIDIA H200 (sm_90a, recorded)".
std::string device_text(const Environment& environment);
/// Returns a text such as "another process computed on the GPU during the final phase".
std::string disturbance(int other_processes);
/// Returns "pass" or "fail".
std::string decision_text(bool passed, const Paint& paint);

}  // namespace fatune
