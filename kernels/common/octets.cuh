// octets.cuh - keys in shared memory in an order that gives each lane 8 neighbouring keys of a row:
// one 16-byte access to scores or weights in device memory.
//
// Of every 8-column tile of sums (or of a left operand), lane t = lane % 4 of a row has columns 2t
// and 2t + 1 (mma.cuh). Put key 8t + 2n + j of every 32 at place 8n + 2t + j, for n = 0..3 and
// j = 0..1: the lane's elements of tiles n = 0..3 are then keys 8t .. 8t + 7. A product over keys
// does not mind their order as long as both operands have the same one.
#pragma once

#include "common/mma_softmax.cuh"
#include "common/score_rows.cuh"
#include "common/swizzled_tile.cuh"

/// The key at a place of a tile, and the place of a key: bits 1-2 and 3-4 change places.
__host__ __device__ constexpr int octet_key(int place) {
  return (place & ~30) | ((place >> 2) & 6) | ((place << 2) & 24);
}
static_assert(octet_key(8 * 3 + 2 * 1 + 1) == 8 * 1 + 2 * 3 + 1, "n 3, t 1, j 1");
static_assert(octet_key(octet_key(22)) == 22, "its own inverse");

/// Copier of swizzled_tile.cuh for keys in this order. A thread's rows of the tile differ in bits
/// above those of its first row, and octet_key() moves bits one by one: the keys' differences are
/// constants, too.
template <int kThreads>
struct OctetCopier {
  static constexpr int kCopyRows = kThreads / kSwizzleWays;
  static_assert(kCopyRows % 8 == 0 && (kCopyRows & (kCopyRows - 1)) == 0,
                "a thread's rows share their swizzle and differ in higher bits");
  u32 to;    // shared address of the thread's first chunk, in a tile at `shared`
  int row;   // its first one
  int key;   // at that row
  int from;  // elements from the tile's first key

  DEVICE explicit OctetCopier(u32 shared) {
    const int thread = static_cast<int>(threadIdx.x);
    row = thread / kSwizzleWays;
    to = shared + chunk_offset(row, thread % kSwizzleWays);
    key = octet_key(row);
    from = key * HEAD_DIM + thread % kSwizzleWays * 8;
  }

  /// Copies kKeys keys to the tile `tile` bytes after `shared`; `source` is the first of them plus
  /// `from`. Keys from `keys_left` on become zeros and are not read.
  template <int kKeys, bool kMayEnd>
  DEVICE void copy(int tile, const elem* source, int keys_left) const {
    static_assert(kKeys % 32 == 0, "the order is one of 32 keys");
#pragma unroll
    for (int pass = 0; pass < kKeys; pass += kCopyRows) {
      if (kKeys % kCopyRows != 0 && row + pass >= kKeys) break;
#pragma unroll
      for (int chunk = 0; chunk < kChunks; chunk += kSwizzleWays) {
        const u32 target = to + tile + pass * kRowBytes + chunk * 16;
        const elem* piece = source + octet_key(pass) * HEAD_DIM + chunk * 8;
        if constexpr (kMayEnd) {
          cp_async_16_or_zero(target, piece, key + octet_key(pass) < keys_left);
        } else {
          cp_async_16(target, piece);
        }
      }
    }
  }
};

/// Scores of keys that a row may not see become -inf, whatever they were. `row` is that of this
/// lane's first element, `key` the first of its octet in the tile's first 32 keys.
template <bool kEnd, int kM, int kN>
DEVICE void mask_octets(Scores<kM, kN>& scores, int row, int key) {
  const int keys_left = SEQ_KV - key;
  const int diagonal = row + (SEQ_KV - SEQ_Q) - key;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int n = 0; n < kN; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int element_row = 16 * m + i / 2 * 8;
        const int element_key = n / 4 * 32 + n % 4 * 2 + i % 2;
        bool hidden = kEnd && element_key >= keys_left;
        if (CAUSAL != 0) hidden = hidden || element_key - element_row > diagonal;
        if (hidden) scores.at[m][n][i] = NEG_INF;
      }
    }
  }
}
