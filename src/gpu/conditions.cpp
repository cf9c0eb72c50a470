// conditions.cpp - folds readings of the GPU's state into one record.
#include "gpu/conditions.hpp"

#include <algorithm>

namespace fatune {

void fold(Conditions& conditions, const gpu::Reading& reading) {
  if (reading.sm_clock_mhz) {
    const int clock = *reading.sm_clock_mhz;
    const bool first = conditions.sm_clock_mhz_max == 0;
    conditions.sm_clock_mhz_min = first ? clock : std::min(conditions.sm_clock_mhz_min, clock);
    conditions.sm_clock_mhz_max = std::max(conditions.sm_clock_mhz_max, clock);
  }
  if (reading.memory_clock_mhz) conditions.memory_clock_mhz = *reading.memory_clock_mhz;
  if (reading.temperature_c)
    conditions.temperature_c = std::max(conditions.temperature_c, *reading.temperature_c);
  if (reading.power_w) conditions.power_w = std::max(conditions.power_w, *reading.power_w);
  conditions.throttle_reasons |= reading.throttle_reasons.value_or(0) & ~kIdleReason;
}

bool must_discard(const gpu::Reading& reading) {
  return (reading.throttle_reasons.value_or(0) & kDiscardReasons) != 0;
}

bool ConditionWatch::look() {
  const gpu::Reading reading = telemetry_->read();
  fold(conditions_, reading);
  return must_discard(reading);
}

}  // namespace fatune
