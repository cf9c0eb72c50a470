// cells.hpp - times, intervals, ratios and rates to the cells of a table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/results/sweep_result.hpp"
#include "out/text/layout.hpp"

namespace fatune {

inline constexpr int kRatioDecimals = 3;

std::string interval_text(double low, double high, int decimals);  ///< "[9.71, 9.80]"
/// Decimals that show four significant digits of a time: the intervals are that narrow.
int decimals_for(double time_us);
/// "-" for what was not measured.
std::string median_cell(const std::optional<Timing>& timing);
std::string interval_cell(const std::optional<Timing>& timing);
std::string ratio_cell(const std::optional<Ratio>& ratio);
std::string ratio_interval_cell(const std::optional<Ratio>& ratio);
/// What the time makes of the problem, in the unit of rate_name().
std::string rate_text(const Problem& problem, const Timing& timing);
/// Of plain launches where they were timed, else hot.
std::string rate_cell(const FinalRecord& record);
/// A column of a table of finals.
struct TimeColumn {
  std::string time;   ///< for timing_of()
  std::string title;  ///< "in layer us", "plain us", "chained us", "hot us", "cold us"
};
/// "in layer", "plain", "hot", "cold"
std::string time_words(const std::string& time);
/// The times that any of the rows has, the one first that they are ranked by. A hot time that is
/// the plain one for all is left out.
std::vector<TimeColumn> time_columns(const std::vector<FinalRecord>& rows,
                                     const std::string& objective);
/// Medians and intervals of these times, the first always shown.
std::vector<Column> time_heads(const std::vector<TimeColumn>& times);
std::vector<std::string> time_cells(const FinalRecord& row, const std::vector<TimeColumn>& times);
/// "TFLOP/s", or "GB/s" of the least bytes for an operation that declares no operations to count.
std::string rate_name(const Problem& problem);
/// "NVIDIA H200 (sm_90a, recorded)"
std::string device_text(const Environment& environment);
/// Of a gate: "pass", "fail".
std::string decision_text(bool passed, const Paint& paint);

}  // namespace fatune
