// octet_pipeline.cuh: Brings the KV blocks of a CTA's head by cp.async through the stages of a
// pipeline in shared memory, with keys in the order InOctets.
#pragma once

#include "common/key_order.cuh"
#include "common/mma_epilogue.cuh"
#include "common/swizzled_tile.cuh"

/// The place of a thread whose CTA owns kBlockM rows of one head, the warps kMTiles row tiles each.
/// Causal: the longest work tiles first (LPT).
template <int kBlockM, int kMTiles>
DEVICE Place place_in_row_block() {
  constexpr int kMBlocks = ceil_div(SEQ_Q, kBlockM);
  const int thread = static_cast<int>(threadIdx.x);
  const int block = static_cast<int>(blockIdx.x);
  const int m_block = block % kMBlocks;
  const int block_row = (kBoundedAfter ? kMBlocks - 1 - m_block : m_block) * kBlockM;
  return {thread % 32, 0, thread / 32 * 16 * kMTiles, block_row, block / kMBlocks};
}

/// kPasses passes over the first `count` KV blocks of kBlockN keys; iteration i uses stage
/// i % kStages.
template <typename Tensor, int kThreads, int kBlockN, int kStages, int kPasses>
struct OctetPipeline {
  static constexpr int kStageBytes = kBlockN * kRowBytes;
  static_assert(kBlockN % 32 == 0, "whole octets");
  Copier<kThreads, Tensor, InOctets> copier;
  const elem* source;  // the head's first key, plus copier.from
  int count;

  DEVICE OctetPipeline(u32 shared, const elem* head, int count_)
      : copier(shared), source(head + copier.from), count(count_) {}

  DEVICE int n_block_of(int iteration) const {
    return kPasses == 1 || iteration < count ? iteration : iteration - count;
  }

  /// Every call commits a group of copies, an empty one past the last iteration.
  DEVICE void load(int iteration, int stage) const {
    if (iteration < kPasses * count) {
      const int first_key = n_block_of(iteration) * kBlockN;
      copier.template copy<kBlockN, SEQ_KV % kBlockN != 0>(
          stage * kStageBytes, source + i64{first_key} * Tensor::kRow, SEQ_KV - first_key);
    }
    cp_async_commit();
  }
  /// What was copied before the call belongs to the first group.
  DEVICE void start() const {
#pragma unroll
    for (int iteration = 0; iteration < kStages - 1; ++iteration) load(iteration, iteration);
  }
  /// Waits for this iteration's KV block, and refills the stage of the iteration before with the
  /// one kStages - 1 ahead.
  DEVICE void advance(int iteration, int stage) const {
    cp_async_wait<kStages - 2>();
    __syncthreads();
    load(iteration + kStages - 1, stage == 0 ? kStages - 1 : stage - 1);
  }
};
