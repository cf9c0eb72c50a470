// v_transposer.cuh: Transposes fp8 stages of V by warps of the producer warpgroup: wgmma takes fp8
// K-major only.
//
// 32 columns of 32 keys at a time, 16 an instruction. ldmatrix.trans moves pairs of bytes: lane (g,
// t) = (lane / 4, lane % 4) gets columns 2g and 2g + 1 of keys 2t and 2t + 1 of each octet. Byte
// permutations bring together what belongs to one column, four keys of two octets; stmatrix writes
// these as columns 4t .. 4t + 3 of a row of V^T. That is the order in which lanes hold P (pack_p):
// the keys of V^T are permuted as those of P are. Even columns become rows 0 to 7, odd ones rows 8
// to 15, so that the rows that stmatrix writes lie in different banks; the lanes of a row of O then
// hold four neighbouring columns each (register_rows.cuh). notes.md, "FP8", derives this.
#pragma once

#include "common/ldmatrix.cuh"
#include "fa_wgmma/ones.cuh"
#include "fa_wgmma/producer.cuh"

struct VTransposer {
  SharedStorage storage;
  u32 warp;  // of kTransposingWarps
  u32 lane;

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
  static constexpr u32 kPairs = HEAD_DIM / 32;  // of chunks of 16 columns
  static constexpr u32 kUnits = kPairs * (BLOCK_N / 32);
  static constexpr u32 kBoxChunks = kBoxBytes / 16;
  static constexpr u32 kKeyBoxChunks = kKeyBoxBytes / 16;

  /// The swizzle of a row: what its chunks of 16 bytes are moved by, an exclusive or.
  template <int kRowBytes>
  DEVICE static u32 swizzle(u32 row) {
    return kRowBytes == 128 ? row & 7 : row >> 1 & 3;
  }

  DEVICE void transpose(int stage) const {
    const u32 from = lane * kBoxBytes + swizzle<kBoxBytes>(lane) * 16;
    const u32 row = lane / 16 * 8 + lane % 8;
    const u32 to = row * kKeyBoxBytes + (swizzle<kKeyBoxBytes>(row) ^ lane / 8 % 2) * 16;
#pragma unroll 1
    for (u32 unit = warp; unit < kUnits; unit += kTransposingWarps) {
      const u32 keys = unit / kPairs;
      const u32 key_box = 2 * keys / kKeyBoxChunks;
      const u32 v = storage.v(stage) + keys * (32 * kBoxBytes);
      const u32 v_t = storage.v_transposed(stage) + key_box * (kVRows * kKeyBoxBytes) +
                      (to ^ 2 * keys % kKeyBoxChunks * 16);
      u32 octets[2][4];
#pragma unroll
      for (u32 i = 0; i < 2; ++i) {
        const u32 chunk = 2 * (unit % kPairs) + i;
        ldmatrix_x4_trans(octets[i], v + chunk / kBoxChunks * (BLOCK_N * kBoxBytes) +
                                         (from ^ chunk % kBoxChunks * 16));
      }
#pragma unroll
      for (u32 i = 0; i < 2; ++i) {
        const u32 chunk = 2 * (unit % kPairs) + i;
        u32 columns[4];
        transpose_octets(columns, octets[i]);
        stmatrix_x4(v_t + chunk * (16 * kKeyBoxBytes), columns);
      }
    }
  }
};

/// By the producer warpgroup: its last warp loads, the others transpose what is not transposed.
DEVICE void load_and_transpose(const Producer& producer, int first_tile) {
  const u32 warp = threadIdx.x % 128 / 32;
  if (kEarlyV) {
    if (threadIdx.x == kThreads - 32) producer.fill_stages(work_tile_at(first_tile));
    __syncwarp();
    if (kRowSumByMma) write_ones(producer.storage);
  }
  if (kTransposeV && warp < kTransposingWarps) {
    VTransposer{producer.storage, warp, threadIdx.x % 32}.run(first_tile);
  } else if (threadIdx.x == kThreads - 32) {
    producer.load(first_tile);
  } else if (kQHasLoader && threadIdx.x == kThreads - 64) {
    producer.load_later_q(first_tile);
  }
}
