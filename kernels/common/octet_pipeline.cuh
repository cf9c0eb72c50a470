// octet_ring.cuh - walks of a block over the tiles of K or V of its head: by cp.async into a ring
// of tiles in shared memory, keys in the order InOctets.
#pragma once

#include "common/key_order.cuh"
#include "common/mma_epilogue.cuh"
#include "common/swizzled_tile.cuh"

/// The place of a thread whose block owns kBlockM rows of one head, the warps kMTiles row tiles
/// each. Causal: long query tiles first, so that short ones fill the gaps at the end.
template <int kBlockM, int kMTiles>
DEVICE Place place_in_row_block() {
  constexpr int kQueryTiles = ceil_div(SEQ_Q, kBlockM);
  const int thread = static_cast<int>(threadIdx.x);
  const int block = static_cast<int>(blockIdx.x);
  const int tile = block % kQueryTiles;
  const int block_row = (CAUSAL != 0 ? kQueryTiles - 1 - tile : tile) * kBlockM;
  return {thread % 32, 0, thread / 32 * 16 * kMTiles, block_row, block / kQueryTiles};
}

/// kWalks walks over the first `count` tiles of kBlockN keys; visit i uses slot i % kStages.
template <int kThreads, int kBlockN, int kStages, int kWalks>
struct OctetRing {
  static constexpr int kTileBytes = kBlockN * kRowBytes;
  static_assert(kBlockN % 32 == 0, "whole octets");
  Copier<kThreads, InOctets> copier;
  const elem* source;  // the head's first key, plus copier.from
  int count;

  DEVICE OctetRing(u32 shared, const elem* head, int count_)
      : copier(shared), source(head + copier.from), count(count_) {}

  DEVICE int tile_of(int visit) const {
    return kWalks == 1 || visit < count ? visit : visit - count;
  }

  /// Every call closes a group of copies, an empty one past the last visit.
  DEVICE void load(int visit, int slot) const {
    if (visit < kWalks * count) {
      const int first_key = tile_of(visit) * kBlockN;
      copier.template copy<kBlockN, SEQ_KV % kBlockN != 0>(
          slot * kTileBytes, source + i64{first_key} * HEAD_DIM, SEQ_KV - first_key);
    }
    cp_async_commit();
  }
  /// What was copied before the call belongs to the first group.
  DEVICE void start() const {
#pragma unroll
    for (int visit = 0; visit < kStages - 1; ++visit) load(visit, visit);
  }
  /// The tile of this visit is here, and the slot of the visit before is free for one kStages - 1
  /// ahead.
  DEVICE void advance(int visit, int slot) const {
    cp_async_wait<kStages - 2>();
    __syncthreads();
    load(visit + kStages - 1, slot == 0 ? kStages - 1 : slot - 1);
  }
};
