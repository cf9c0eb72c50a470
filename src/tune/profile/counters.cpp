// counters.cpp - counters to JSON, and what follows from two of them.
#include "tune/profile/counters.hpp"

#include <nlohmann/json.hpp>

#include "tune/profile/metrics.hpp"

namespace fatune {

Json to_json(const Counters& counters) {
  Json object = {{"kernel", counters.kernel}};
  for (const NcuMetric& metric : all_metrics()) {
    const std::optional<double>& value = counters.*metric.field;
    if (value) object[metric.name] = *value;
  }
  return object;
}

std::optional<double> bank_conflict_ratio(const Counters& counters) {
  const bool loads = counters.conflicts_load && counters.wavefronts_load;
  const bool stores = counters.conflicts_store && counters.wavefronts_store;
  if (!loads && !stores) return std::nullopt;
  const double passes =
      (loads ? *counters.wavefronts_load : 0) + (stores ? *counters.wavefronts_store : 0);
  const double extra =
      (loads ? *counters.conflicts_load : 0) + (stores ? *counters.conflicts_store : 0);
  return passes > 0 ? extra / passes : 0;
}

}  // namespace fatune
