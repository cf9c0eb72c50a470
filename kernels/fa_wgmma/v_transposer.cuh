// v_transposer.cuh - fp8 stages of V to stages of V^T, by warps of the producer warpgroup: wgmma
// takes fp8 K-major only.
//
// 16 columns of 32 keys at a time. ldmatrix.trans moves pairs of bytes: lane (g, t) = (lane / 4,
// lane % 4) gets columns 2g and 2g + 1 of keys 2t and 2t + 1 of each octet. Byte permutations bring
// together what belongs to one column, four keys of two octets; stmatrix writes these as columns
// 4t .. 4t + 3 of a row of V^T. That is the order in which lanes hold P (pack_p): the keys of V^T
// are permuted as those of P are. Even columns become rows 0 to 7, odd ones rows 8 to 15, so that
// the rows that stmatrix writes lie in different banks; the lanes of a row of O then hold four
// neighbouring columns each (register_rows.cuh). notes.md, "FP8", derives this.
#pragma once

#include "common/ldmatrix.cuh"
#include "fa_wgmma/producer.cuh"

struct VTransposer {
  SharedStorage storage;
  int warp;  // of kTransposingWarps
  int lane;

  /// All KV blocks of the CTA's work tiles.
  DEVICE void run(int first_tile) const {
#pragma unroll 1
    for (ProducerState at(first_tile); at.more(); at.advance()) {
      const int stage = at.count % kStages;
      const int round = at.count / kStages;
      mbarrier_wait(storage.v_full(stage), round % 2);
      if (round > 0) mbarrier_wait(storage.pv_empty(stage), (round + 1) % 2);
      transpose(stage);
      async_proxy_fence();
      __syncwarp();
      if (lane == 0) mbarrier_arrive(storage.pv_full(stage));
      if (!kResident && lane == 0) mbarrier_arrive(storage.v_empty(stage));
    }
  }

 private:
  static constexpr int kChunks = HEAD_DIM / 16;
  static constexpr int kUnits = kChunks * (BLOCK_N / 32);
  static constexpr int kBoxChunks = kBoxBytes / 16;
  static constexpr int kKeyBoxChunks = kKeyBoxBytes / 16;

  /// The swizzle of a row: what its chunks of 16 bytes are moved by, an exclusive or.
  template <int kRowBytes>
  DEVICE static int swizzle(int row) {
    return kRowBytes == 128 ? row & 7 : row >> 1 & 3;
  }

  DEVICE void transpose(int stage) const {
    const int from = lane * kBoxBytes + swizzle<kBoxBytes>(lane) * 16;
    const int row = lane / 16 * 8 + lane % 8;
    const int to = row * kKeyBoxBytes + (swizzle<kKeyBoxBytes>(row) ^ lane / 8 % 2) * 16;
#pragma unroll 2
    for (int unit = warp; unit < kUnits; unit += kTransposingWarps) {
      const int chunk = unit % kChunks;
      const int keys = unit / kChunks;
      const int v = chunk / kBoxChunks * (BLOCK_N * kBoxBytes) + keys * (32 * kBoxBytes) +
                    (from ^ chunk % kBoxChunks * 16);
      const int key_chunk = 2 * keys;
      const int v_t = key_chunk / kKeyBoxChunks * (kVRows * kKeyBoxBytes) +
                      chunk * (16 * kKeyBoxBytes) + (to ^ key_chunk % kKeyBoxChunks * 16);
      u32 octets[4];
      ldmatrix_x4_trans(octets, storage.v(stage) + v);
      u32 columns[4];
      transpose_octets(columns, octets);
      stmatrix_x4(storage.v_transposed(stage) + v_t, columns);
    }
  }
};

/// By the producer warpgroup: its last warp loads, the others transpose.
DEVICE void load_and_transpose(const Producer& producer, int first_tile) {
  const int warp = static_cast<int>(threadIdx.x) % 128 / 32;
  if (warp < kTransposingWarps) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    VTransposer{producer.storage, warp, lane}.run(first_tile);
  } else if (threadIdx.x == kThreads - 32) {
    producer.load(first_tile);
  }
}
