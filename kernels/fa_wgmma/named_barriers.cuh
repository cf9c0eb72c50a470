// named_barriers.cuh: Numbers the hardware barriers that the kernels use beside __syncthreads (0),
// and takes turns by them (ping-pong).
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

/// Ping-pong: consumer warpgroups issue their wgmmas in turn, by warp-scheduler barriers.
struct Turns {
  int row_block;
  bool last_tile;  // of the CTA's work tiles

  /// Before the first work tile.
  DEVICE void begin() const {
    if (kPingpong && row_block == kRowBlocks - 1) named_barrier_arrive<256>(barrier(0));
  }
  DEVICE void wait() const {
    if (kPingpong) named_barrier_sync<256>(barrier(row_block));
  }
  /// The last warpgroup's last arrival is left out: it would leave a barrier half full.
  DEVICE void pass_on(bool last) const {
    if (!kPingpong || (last && last_tile && row_block == kRowBlocks - 1)) return;
    named_barrier_arrive<256>(barrier(row_block + 1));
  }

 private:
  DEVICE static int barrier(int row_block) {
    return barrier_id(NamedBarrier::kWarpScheduler, row_block % kRowBlocks);
  }
};
