// shared_storage.cuh: Lays out a CTA's shared memory.
//
//   Q | stages of K | stages of V | of V^T | partial O | P | O | ones | row statistics of splits |
//   tiles of the bias | barriers
//
// A tile of R rows is a row of boxes of R x kBoxBytes bytes. O takes Q's place, and partial O that
// of K and V, where they are no longer needed. The sizes are terms of the manifest.
#pragma once

#include "fa_wgmma/traits.cuh"

#ifdef V_STAGE_BYTES
constexpr int kVStageBytes = V_STAGE_BYTES;
#else
constexpr int kVStageBytes = KV_STAGE_BYTES;
#endif

/// Addresses in shared memory.
struct SharedStorage {
  // A neighbour of the cluster may be ahead of this CTA and write its partial O before K and V are
  // done with.
  static constexpr bool kOwnPartialO = CLUSTER_SPLITS > 1;

  static constexpr int kKv = Q_BYTES;
  static constexpr int kVTransposed = kKv + KV_BYTES;
  static constexpr int kPartialO = kOwnPartialO ? kVTransposed + kVTransposedBytes : kKv;
  static constexpr int kP = kKv + KV_POOL_BYTES;
  // What a CTA gets from the splits of its cluster: partial O, and statistics, its own included.
  static constexpr int kCombineBytes = kP - kPartialO + STATS_BYTES;
  static constexpr int kO = kPersistent ? kP + kPBytes : 0;
  static constexpr int kOnes = kP + kPBytes + kOBytes;
  static constexpr int kStats = kOnes + kOnesBytes;
  static constexpr int kBias = kStats + STATS_BYTES;
  static constexpr int kBarriers = kBias + kBiasBytes;
#if MASK_EXPR
  static constexpr int kBlockList = kBarriers + BARRIER_BYTES;
  static constexpr int kBytes = kBlockList + BLOCK_LIST_BYTES;
#else
  static constexpr int kBytes = kBarriers + BARRIER_BYTES;
#endif
  u32 base;

  DEVICE u32 q() const { return base; }
  DEVICE u32 k(int stage) const { return base + kKv + stage * KV_STAGE_BYTES; }
  DEVICE u32 v(int stage) const { return k(kStages) + stage * kVStageBytes; }
  DEVICE u32 v_transposed(int stage) const {
    return base + kVTransposed + stage * (kVTransposedBytes / kStages);
  }
  DEVICE u32 p(int warpgroup) const { return base + kP + warpgroup * (kPBytes / kConsumers); }
  DEVICE u32 o() const { return base + kO; }
  DEVICE u32 partial_o() const { return base + kPartialO; }
  DEVICE u32 ones() const { return base + kOnes; }
  /// A consumer warp's tile of the bias.
  DEVICE u32 bias(int warp) const { return base + kBias + warp * (kBiasBytes / (4 * kConsumers)); }
  DEVICE u32 stats() const { return base + kStats; }

  DEVICE u32 barrier(int index) const { return base + kBarriers + 8 * index; }
  DEVICE u32 q_full(int row_block) const { return barrier(row_block); }
  /// All that the splits of a cluster hand this CTA.
  DEVICE u32 combine_full() const { return barrier(kRowBlocks); }
  DEVICE u32 k_full(int stage) const { return barrier(kRowBlocks + 1 + stage); }
  DEVICE u32 v_full(int stage) const { return barrier(kRowBlocks + 1 + kStages + stage); }
  DEVICE u32 k_empty(int stage) const { return barrier(kRowBlocks + 1 + 2 * kStages + stage); }
  DEVICE u32 v_empty(int stage) const { return barrier(kRowBlocks + 1 + 3 * kStages + stage); }
  /// Behind all others, of persistent CTAs alone.
  DEVICE u32 q_empty(int row_block) const {
    return barrier(kRowBlocks + 1 + (kTransposeV ? 6 : 4) * kStages + row_block);
  }
  /// What PV reads: V, or V^T where it is transposed.
  DEVICE u32 pv_operand(int stage) const { return kTransposeV ? v_transposed(stage) : v(stage); }
  DEVICE u32 pv_full(int stage) const { return v_full((kTransposeV ? 3 * kStages : 0) + stage); }
  DEVICE u32 pv_empty(int stage) const { return v_empty((kTransposeV ? 2 * kStages : 0) + stage); }
};
static_assert(SharedStorage::kBytes == SHARED_BYTES, "the launch asks for what is laid out here");
static_assert(KV_BYTES == kStages * (KV_STAGE_BYTES + kVStageBytes), "as many stages of V as of K");
static_assert(BARRIER_BYTES == 8 * (kRowBlocks + 1 + (kTransposeV ? 6 : 4) * kStages +
                                    (kPersistent ? kRowBlocks : 0)),
              "the last barrier is pv_empty of the last stage, or q_empty of the last rows");
