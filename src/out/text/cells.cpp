// cells.cpp - formats times with as many digits as their intervals are worth.
#include "out/text/cells.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

std::string interval_text(double low, double high, int decimals) {
  return "[" + fixed(low, decimals) + ", " + fixed(high, decimals) + "]";
}

int decimals_for(double time_us) {
  if (!(time_us > 0)) return 2;
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

std::string rate_cell(const FinalRecord& record) {
  if (!record.hot) return "-";
  const Seconds time = to_seconds(Micros(record.hot->median_us));
  const double rate = counts_flops(record.problem) ? (flops(record.problem) / time).value
                                                   : gigabytes_per_second(record.problem, time);
  return fixed(rate, rate < 100 ? 1 : 0);
}

std::string rate_name(const Problem& problem) { return counts_flops(problem) ? "TFLOP/s" : "GB/s"; }

std::string device_text(const Environment& environment) {
  return environment.device_name + " (" + name(environment.limits.arch) +
         (environment.recorded ? ", recorded)" : ")");
}

std::string decision_text(bool passed, const Paint& paint) {
  return passed ? paint(Tone::kGood, "pass") : paint(Tone::kBad, "fail");
}

}  // namespace fatune
