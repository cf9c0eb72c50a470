// quantize_pieces.cuh: Holds a thread's part of a head of q, k or v; finds the head's largest
// magnitude, and makes fp8 elements.
#pragma once

#include "common/given_elem.cuh"
#include "common/launch.cuh"
#include "common/problem.cuh"
#include "common/tma.cuh"

static_assert(HEAD_DIM % 8 == 0, "rows are read in pieces of 16 bytes");

#if DTYPE == DTYPE_E4M3
DEVICE u32 pack4_quantized(float a, float b, float c, float d) { return pack4_e4m3(a, b, c, d); }
#else
DEVICE u32 pack4_quantized(float a, float b, float c, float d) {
  u32 bits;
  asm("{.reg .b16 lo, hi; cvt.rn.satfinite.e5m2x2.f32 lo, %2, %1; "
      "cvt.rn.satfinite.e5m2x2.f32 hi, %4, %3; mov.b32 %0, {lo, hi};}"
      : "=r"(bits)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return bits;
}
#endif

/// What elements of a head are multiplied by in the end. 1 where all are 0. NaN where one is not
/// finite: so is then every output that the head has a part in. Smaller heads than 2^-63 lose bits;
/// in return neither a factor's inverse nor the product of two factors leaves fp32's range.
DEVICE float factor_of(float magnitude) {
  if (!(magnitude < __int_as_float(0x7f800000))) return __int_as_float(0x7fffffff);
  if (magnitude == 0.0f) return 1.0f;
  return fmaxf(magnitude, 0x1p-63f) / kLargestElement;
}

DEVICE u32 max_u16x2(u32 a, u32 b) {
  u32 most;
  asm("max.u16x2 %0, %1, %2;" : "=r"(most) : "r"(a), "r"(b));
  return most;
}

DEVICE u32 warp_max_u32(u32 value) {
  u32 most;
  asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(most) : "r"(value));
  return most;
}

/// 8 elements of a row.
struct GivenPiece {
  uint4 pairs;

  DEVICE u32 magnitudes(u32 most) const {
    most = max_u16x2(most, pairs.x & 0x7fff7fff);
    most = max_u16x2(most, pairs.y & 0x7fff7fff);
    most = max_u16x2(most, pairs.z & 0x7fff7fff);
    return max_u16x2(most, pairs.w & 0x7fff7fff);
  }
  DEVICE uint2 quantized(float inverse) const {
    return make_uint2(four(pairs.x, pairs.y, inverse), four(pairs.z, pairs.w, inverse));
  }
  DEVICE void to_floats(float (&values)[8]) const {
    const u32 all[4] = {pairs.x, pairs.y, pairs.z, pairs.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = given_to_float(all[i / 2] >> (16 * (i % 2)));
  }

 private:
  DEVICE static u32 four(u32 low, u32 high, float by) {
    return pack4_quantized(given_to_float(low) * by, given_to_float(low >> 16) * by,
                           given_to_float(high) * by, given_to_float(high >> 16) * by);
  }
};

constexpr int kQuantWarps = QUANT_THREADS / 32;
constexpr int kQuantTeam = QUANT_THREADS * QUANT_CLUSTER;
constexpr int kQuantBatch = 8;  // chosen: pieces that a thread loads before it waits for them
constexpr bool kKeepsElements =
    QUANT_KEEP == QUANT_KEEP_REGISTERS && 4 * QUANT_PIECES + 40 <= QUANT_REGISTERS;

DEVICE int quant_rank() {
  return QUANT_CLUSTER == 1 ? 0 : static_cast<int>(blockIdx.x) % QUANT_CLUSTER;
}

/// The largest of all threads' magnitudes over the cluster. `of_warps`: room for one number of each
/// of its warps.
DEVICE u32 largest_of_cluster(u32 magnitude, u32* of_warps) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const u32 mine = warp_max_u32(magnitude);
  const u32 slot = shared_address(of_warps + quant_rank() * kQuantWarps + threadIdx.x / 32);
  if constexpr (QUANT_CLUSTER > 1) {
    cluster_wait();  // all CTAs run: their shared memory can be written
    if (lane < QUANT_CLUSTER) {
      asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(cluster_address(slot, lane)), "r"(mine)
                   : "memory");
    }
    cluster_arrive();
    cluster_wait();
  } else {
    if (lane == 0) asm volatile("st.shared.u32 [%0], %1;" ::"r"(slot), "r"(mine) : "memory");
    __syncthreads();
  }
  u32 most = 0;
  for (int i = lane; i < kQuantWarps * QUANT_CLUSTER; i += 32) most = max_of(most, of_warps[i]);
  return warp_max_u32(most);
}

/// What a thread has of a head of a tensor, in rounds: every kQuantTeam-th piece of 8 elements.
/// kHeads heads of kRows rows each, of memory as Tensor says; elements keep their order.
template <typename Tensor, int kHeads, int kRows>
struct RowPieces {
  static constexpr int kInRow = HEAD_DIM / 8;
  static constexpr i64 kAll = static_cast<i64>(kHeads) * kRows * kInRow;
  static constexpr int kRounds = static_cast<int>(ceil_div(kAll, i64{kQuantTeam}));
  static constexpr int kARound = 1;
  static_assert(kAll + i64{kQuantTeam} * kQuantBatch < i64{1} << 31, "pieces count in 32 bits");
  const u16* from;
  u8* to;
  i64 head;  // counted over the batch

  DEVICE static int index(int round) {
    return round * kQuantTeam + quant_rank() * QUANT_THREADS + static_cast<int>(threadIdx.x);
  }
  DEVICE static bool has(int round) { return index(round) < kAll; }
  DEVICE uint2* place(int round) const {
    return reinterpret_cast<uint2*>(to) + (head * kAll + index(round));
  }
  /// Beyond the last piece: zeros.
  DEVICE void load(GivenPiece* pieces, int round) const {
    const int piece = index(round);
    pieces->pairs = make_uint4(0, 0, 0, 0);
    if (piece >= kAll) return;
    const int row = piece / kInRow;
    const i64 at = Tensor::row(head * kHeads + row / kRows, row % kRows) + piece % kInRow * 8;
    pieces->pairs = *reinterpret_cast<const uint4*>(from + at);
  }
  template <typename Any>
  DEVICE void store(const Any* pieces, int round, float inverse) const {
    if (has(round)) *place(round) = pieces->quantized(inverse);
  }
};

#if defined(V_TRANSPOSED_BY) && V_TRANSPOSED_BY == V_TRANSPOSED_BY_QUANTIZER
/// The same of V, which becomes V^T: HEAD_DIM rows of KEY_PITCH keys, zeros behind the last. A warp
/// has tiles of 32 keys and 32 columns; lane (c, h, t) of 4 x 2 x 4 has columns 8c .. 8c + 7 of
/// keys 16h + 2t, + 1, + 8 and + 9. They become bytes 16h + 4t .. + 3 of a row: the order in which
/// lanes hold P. Even columns of sixteen come before odd ones (fa_wgmma/v_transposer.cuh says why).
/// Eight lanes write a sector of 32 bytes.
struct TransposedPieces {
  static constexpr int kAcross = HEAD_DIM / 32;
  static constexpr int kTiles = KEY_PITCH / 32 * kAcross;
  static constexpr int kTeam = kQuantTeam / 32;
  static constexpr int kRounds = ceil_div(kTiles, kTeam);
  static constexpr int kARound = 4;
  const u16* from;
  u8* to;
  i64 head;

  DEVICE static int tile_at(int round) {
    return round * kTeam + quant_rank() * kQuantWarps + static_cast<int>(threadIdx.x) / 32;
  }
  DEVICE static int column(int tile) {
    return tile % kAcross * 32 + static_cast<int>(threadIdx.x) % 32 / 8 * 8;
  }
  DEVICE void load(GivenPiece (&pieces)[4], int round) const {
    const int tile = tile_at(round);
    const int eighth = static_cast<int>(threadIdx.x) % 8;
    const int first = tile / kAcross * 32 + eighth / 4 * 16 + eighth % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = first + i / 2 * 8 + i % 2;
      pieces[i].pairs = make_uint4(0, 0, 0, 0);
      if (tile >= kTiles || key >= SEQ_KV) continue;
      const i64 at = VTensor::row(head, key) + column(tile);
      pieces[i].pairs = *reinterpret_cast<const uint4*>(from + at);
    }
  }
  DEVICE void store(const GivenPiece (&pieces)[4], int round, float inverse) const {
    const int tile = tile_at(round);
    if (tile >= kTiles) return;
    u32 keys[4][2];  // columns 0 to 3 and 4 to 7 of each
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint2 eight = pieces[i].quantized(inverse);
      keys[i][0] = eight.x;
      keys[i][1] = eight.y;
    }
    const int first = column(tile);
    u8* const row_0 = to + (head * HEAD_DIM + first / 16 * 16 + first % 16 / 2) * KEY_PITCH +
                      tile / kAcross * 32 + threadIdx.x % 8 * 4;
#pragma unroll
    for (int c = 0; c < 8; ++c) {
      const u32 from_pair = c % 4 | (c % 4 + 4) << 4;
      const u32 low = __byte_perm(keys[0][c / 4], keys[1][c / 4], from_pair);
      const u32 high = __byte_perm(keys[2][c / 4], keys[3][c / 4], from_pair);
      const i64 row = c % 2 * 8 + c / 2;
      *reinterpret_cast<u32*>(row_0 + row * KEY_PITCH) = __byte_perm(low, high, 0x5410);
    }
  }
};
using VPieces = TransposedPieces;
#else
using VPieces = RowPieces<VTensor, 1, SEQ_KV>;
#endif
