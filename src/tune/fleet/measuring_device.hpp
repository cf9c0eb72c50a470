// measuring_device.hpp: Decides whether a device may measure beside the others of a run.
#pragma once

#include <string>
#include <vector>

#include "model/results/measurement.hpp"

namespace fatune {

/// A device that takes part in a run.
struct MeasuringDevice {
  std::string name;  ///< "rank 2 on b, cuda:0"
  Environment environment;
};

/// Explains that another device of `before` is the same GPU; empty if none is.
std::string owner(const MeasuringDevice& now, const std::vector<MeasuringDevice>& before);
/// Explains how the environment of `now` differs from that of `before`; empty if both agree.
std::string refusal(const MeasuringDevice& now, const std::vector<MeasuringDevice>& before);

}  // namespace fatune
