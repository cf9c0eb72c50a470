// measuring_device.cpp: Compares GPUs by UUID, and environments by name and version.
#include "tune/fleet/measuring_device.hpp"

#include <fmt/format.h>

#include "tune/sweep/shard_runs.hpp"

namespace fatune {

std::string owner(const MeasuringDevice& now, const std::vector<MeasuringDevice>& before) {
  for (const MeasuringDevice& other : before) {
    const std::string& uuid = now.environment.device_uuid;
    if (!now.environment.recorded && !uuid.empty() && uuid == other.environment.device_uuid)
      return fmt::format("{} has the same GPU ({})", other.name, uuid);
  }
  return "";
}

std::string refusal(const MeasuringDevice& now, const std::vector<MeasuringDevice>& before) {
  if (before.empty()) return "";
  const auto theirs = circumstances(before.front().environment);
  const auto own = circumstances(now.environment);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].second == theirs[i].second) continue;
    return fmt::format("its {} is {}, that of {} is {}", own[i].first, own[i].second,
                       before.front().name, theirs[i].second);
  }
  return "";
}

}  // namespace fatune
