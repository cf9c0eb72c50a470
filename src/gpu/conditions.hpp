// conditions.hpp - telemetry readings to conditions, and whether samples can be kept.
#pragma once

#include <cstdint>

#include "gpu/telemetry.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// Reasons that throw samples away, NVML's bits: hardware slowdown, hardware thermal slowdown,
/// power brake. The software power cap is no reason: tensor kernels at full power always meet it;
/// it is recorded.
inline constexpr std::uint64_t kDiscardReasons = 0x8 | 0x40 | 0x80;
/// Nothing ran at the moment of reading: says nothing about the measurement.
inline constexpr std::uint64_t kIdleReason = 0x1;

/// Widens the clock range, or-s the reasons, keeps the highest temperature and power.
void fold(Conditions& conditions, const gpu::Reading& reading);
bool must_discard(const gpu::Reading& reading);

/// Reads the telemetry around a measurement.
class ConditionWatch {
 public:
  explicit ConditionWatch(const gpu::Telemetry& telemetry) : telemetry_(&telemetry) {}
  /// True when the samples taken since the last look must be thrown away.
  bool look();
  void count_discarded(std::int64_t samples) { conditions_.discarded_samples += samples; }
  const Conditions& conditions() const { return conditions_; }

 private:
  const gpu::Telemetry* telemetry_;
  Conditions conditions_;
};

}  // namespace fatune
