// measuring.hpp - devices that measure for one run, and whether another may beside them.
#pragma once

#include <string>
#include <vector>

#include "model/results/measurement.hpp"

namespace fatune {

/// A device that measures, for those that come after it.
struct Measuring {
  std::string name;  ///< "rank 2 on b, cuda:0"
  Environment environment;
};

/// Why the GPU is another rank's; empty: it is not.
std::string owner(const Measuring& now, const std::vector<Measuring>& before);
/// Why `now` may not measure beside those that do; empty: it may.
std::string refusal(const Measuring& now, const std::vector<Measuring>& before);

}  // namespace fatune
