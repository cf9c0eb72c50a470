// metrics.hpp - the counters asked of ncu: our name, its name, the architectures that have it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/kernel/limits.hpp"
#include "tune/profile/counters.hpp"

namespace fatune {

struct NcuMetric {
  const char* name;  ///< in our JSON
  const char* ncu;
  std::optional<double> Counters::*field;
  int only_arch = 0;  ///< 90: on sm_90 alone; 0: everywhere
};
std::span<const NcuMetric> all_metrics();
/// The names ncu knows them by, for this architecture.
std::vector<std::string> metric_names(const Arch& arch);

}  // namespace fatune
