// counters.cpp - counters to JSON, and what follows from two of them.
#include "tune/profile/counters.hpp"

#include "core/fields.hpp"
#include "tune/profile/metrics.hpp"

namespace fatune {

void fields(Counters& x, FieldList& f) {
  f.record("counters", "Of one launch; only those that were read");
  f("kernel", x.kernel);
  for (const NcuMetric& metric : all_metrics()) f(metric.name, x.*metric.field);
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
