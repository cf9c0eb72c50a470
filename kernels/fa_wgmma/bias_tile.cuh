// bias_tile.cuh: Brings a warp's share of the bias to shared memory, a KV block ahead, and adds it
// to S. Where rows of the bias begin at no multiple of 4 bytes, S gets it straight from memory.
//
// A warp has a place of its own, so nothing but the warp waits for it. Rows are 16 bytes longer
// than their keys need: eight of them lie in different banks.
#pragma once

#include "common/cp_async.cuh"
#include "common/ldmatrix.cuh"
#include "common/mma_bias.cuh"
#include "common/tma.cuh"
#include "fa_wgmma/tile_scheduler.cuh"

#if BIAS
constexpr bool kBiasTiled = BIAS_ALIGN >= 4;
constexpr int kBiasCopy = kBiasTiled ? BIAS_ALIGN : 16;  // bytes of a copy
constexpr int kBiasRows = BIAS_ROWS == 1 ? 1 : 16;       // of a warp; one stands for all
constexpr int kBiasPitch = BLOCK_N * static_cast<int>(sizeof(bias_elem)) + 16;
constexpr int kBiasTileBytes = kBiasTiled ? kBiasRows * kBiasPitch : 0;
static_assert(BIAS_BYTES == kConsumers * 4 * kBiasTileBytes, "a tile for each consumer warp");

/// `tile`: the warp's place in shared memory. `first`: the bias of its first row. Calls are of all
/// lanes of a warp.
struct BiasTile {
  u32 tile;
  int lane;
  const bias_elem* first;
  int rows_left;  // rows of the bias from the first on

  DEVICE BiasTile(u32 tile_, int lane_) : tile(tile_), lane(lane_), first(nullptr), rows_left(0) {}

  /// `head` is counted over the batch; `position` is that of the warp's first row.
  DEVICE void begin_rows(const bias_elem* bias, int head, int position) {
    first = bias_row(bias, head, position);
    rows_left = SEQ_Q - position;
  }

  /// A row of the warp's 16; past the last, the last.
  DEVICE i64 row_offset(int row) const {
    const int real = SEQ_Q % kPositions == 0 ? row : max(0, min(row, rows_left - 1));
    return i64{real} * BIAS_ROW_STRIDE;
  }

  /// Begins the copy of the keys from `key` on. Keys behind the last are written as zeros.
  DEVICE void copy(int key) const {
    if constexpr (!kBiasTiled) return;
    constexpr int kSize = static_cast<int>(sizeof(bias_elem));
    constexpr int kOfRow = BLOCK_N * kSize / kBiasCopy;
    constexpr int kCopies = kBiasRows * kOfRow;
#pragma unroll
    for (int i = 0; i < kCopies; i += 32) {
      if (kCopies % 32 != 0 && i + lane >= kCopies) break;
      const int row = (i + lane) / kOfRow, at = (i + lane) % kOfRow * kBiasCopy;
      const u8* const from = reinterpret_cast<const u8*>(first + row_offset(row) + key) + at;
      const int left = (SEQ_KV - key) * kSize - at;
      constexpr bool kMayPassEnd = kRaggedKeys || kUnalignedBlocks;
      cp_async<kBiasCopy>(tile + row * kBiasPitch + at, from, kMayPassEnd ? left : kBiasCopy);
    }
    cp_async_commit();
  }

  /// Adds the tile to S, whose keys begin at `key`. The copy of another may begin afterwards.
  DEVICE void add_to(Scores<1, kNTiles>& scores, int key) const {
    if constexpr (!kBiasTiled) {
      return add_bias(scores, key + lane % 4 * 2,
                      [&](int below) { return first + row_offset(lane / 4 + below); });
    }
    cp_async_wait<0>();
    __syncwarp();
    if constexpr (sizeof(bias_elem) == 2) {
      add_matrices(scores);
    } else {
      add_pairs(scores);
    }
    __syncwarp();
  }

 private:
  /// ldmatrix leaves elements in the lanes that have their scores.
  DEVICE void add_matrices(Scores<1, kNTiles>& scores) const {
    const u32 from = tile + lane % kBiasRows * kBiasPitch + lane / 16 * 16;
#pragma unroll
    for (int n = 0; n < kNTiles; n += 2) {
      u32 pairs[4];
      ldmatrix_x4(pairs, from + n * 16);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float* const s = scores.at[0][n + i / 2] + i % 2 * 2;
        s[0] = biased(s[0], static_cast<bias_elem>(pairs[i]));
        s[1] = biased(s[1], static_cast<bias_elem>(pairs[i] >> 16));
      }
    }
  }
  DEVICE void add_pairs(Scores<1, kNTiles>& scores) const {
    constexpr int kSize = static_cast<int>(sizeof(bias_elem));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const u32 from = tile + (lane / 4 + 8 * half) % kBiasRows * kBiasPitch + lane % 4 * 2 * kSize;
#pragma unroll
      for (int n = 0; n < kNTiles; ++n) {
        float* const s = scores.at[0][n] + 2 * half;
        const BiasPair pair = shared_pair(from + n * 8 * kSize);
        s[0] = biased(s[0], pair.left);
        s[1] = biased(s[1], pair.right);
      }
    }
  }

  struct BiasPair {
    bias_elem left, right;
  };
  DEVICE static BiasPair shared_pair(u32 address) {
#if BIAS == BIAS_F32
    const float2 pair = shared_float2(address);
    return {pair.x, pair.y};
#else
    u16 pair;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(pair) : "r"(address) : "memory");
    return {static_cast<bias_elem>(pair), static_cast<bias_elem>(pair >> 8)};
#endif
  }
};
#endif
