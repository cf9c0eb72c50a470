// choice.hpp - a problem, a device and stored kernels to the kernel that may serve it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "runtime/fit.hpp"
#include "runtime/stored_kernels.hpp"

namespace fatune::rt {

struct DeviceFacts {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  /// Of shared memory, that a block may ask for: devices of one generation differ.
  int most_shared_bytes = std::numeric_limits<int>::max();
};

/// What is asked for.
struct Wish {
  Problem problem;
  double scale = 0;
  std::int64_t max_launches = 1;
  bool unverified = false;  ///< kernels that passed no gates may be chosen, too
};

struct Choice {
  std::size_t kernel = 0;
  Fit fit;
};

/// The fewest launches win, then the exact problem, then the fastest as measured. Without one:
/// OTHER_DEVICE when only the device's generation or its shared memory is in the way, else
/// NO_KERNEL, with the reason.
Outcome<Choice> choose(std::span<const StoredKernel> kernels, const Wish& wish,
                       const DeviceFacts& device);

/// The kernel tuned for the problem most like this one, of its element type; nothing when there is
/// none. Mask and head_dim weigh most, then lengths, then heads.
std::optional<std::size_t> nearest(std::span<const StoredKernel> kernels, const Problem& problem);

}  // namespace fatune::rt
