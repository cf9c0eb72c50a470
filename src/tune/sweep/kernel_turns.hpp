// kernel_turns.hpp - chooses the kernel whose search is asked next, after the trials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace fatune {

struct KernelStanding {
  double best_us = std::numeric_limits<double>::infinity();  ///< told so far
  std::uint64_t asked = 0;                                   ///< since its trial
  bool exhausted = false;
};

/// The kernel that has been asked least for its share, which falls by e for each tenth that its
/// best is behind the leader's; the number of kernels when all are exhausted. Without any time all
/// shares are the same. See docs/decisions/0008-kernels-compete-for-the-budget.md.
std::size_t next_kernel(std::span<const KernelStanding> kernels);

}  // namespace fatune
