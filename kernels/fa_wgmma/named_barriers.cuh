// named_barriers.cuh - the hardware barriers that both kernels use, beside __syncthreads (0).
#pragma once

#include "fa_wgmma/traits.cuh"

enum class NamedBarrier : int {
  kWarpScheduler = 1,  // ping-pong: one for each consumer warpgroup along M
  kCombine = 8,        // all consumers of a CTA: partial O of its splits
  kRedo = 9,           // one for each consumer warpgroup: overflow vote of the interleaved mainloop
};
static_assert(kRowBlocks <= 4 && kConsumers <= 4, "ranges do not overlap, nor pass barrier 15");

/// The number of the barrier that the range has for `index`.
DEVICE constexpr int barrier_id(NamedBarrier range, int index = 0) {
  return static_cast<int>(range) + index;
}
