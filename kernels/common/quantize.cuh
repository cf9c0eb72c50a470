// quantize.cuh - q, k and v of 16 bits to fp8 elements and their factors: the first launch of a
// kernel that quantizes (--quant fused, decision 0035). sm_90 on.
//
// A cluster of QUANT_CLUSTER CTAs has one head of a tensor: the rows that share a factor. It finds
// the largest magnitude, which becomes the largest number of DTYPE, and writes the elements,
// contiguous. Between the two the elements stay in registers where they fit (QUANT_KEEP); else
// they are read again.
//
// Magnitudes are compared as whole numbers: the bits of 16-bit floats without their sign are in
// order, infinity and NaN above all numbers. So an element that is not finite is never lost.
#pragma once

#include "common/launch.cuh"
#include "common/out_elem.cuh"
#include "common/problem.cuh"
#include "common/tma.cuh"

static_assert(HEAD_DIM % 8 == 0, "rows are read in pieces of 16 bytes");

#if OUT_DTYPE == DTYPE_F16
constexpr u32 kInfinityBits = 0x7c00;
DEVICE float given_to_float(u32 bits) { return f16_to_float(static_cast<u16>(bits)); }
#else
constexpr u32 kInfinityBits = 0x7f80;
DEVICE float given_to_float(u32 bits) { return bf16_to_float(static_cast<u16>(bits)); }
#endif

#if DTYPE == DTYPE_E4M3
constexpr float kLargestElement = 448.0f;
DEVICE u32 pack4_quantized(float a, float b, float c, float d) { return pack4_e4m3(a, b, c, d); }
#else
constexpr float kLargestElement = 57344.0f;
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
DEVICE float factor_of(u32 magnitude_bits) {
  if (magnitude_bits >= kInfinityBits) return __int_as_float(0x7fffffff);
  if (magnitude_bits == 0) return 1.0f;
  return fmaxf(given_to_float(magnitude_bits), 0x1p-63f) / kLargestElement;
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

 private:
  DEVICE static u32 four(u32 low, u32 high, float by) {
    return pack4_quantized(given_to_float(low & 0xffff) * by, given_to_float(low >> 16) * by,
                           given_to_float(high & 0xffff) * by, given_to_float(high >> 16) * by);
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

/// The largest of all threads' magnitudes, two in a register, over the cluster. `of_warps`: room
/// for one number of each of its warps.
DEVICE u32 largest_of_cluster(u32 two, u32* of_warps) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const u32 mine = warp_max_u32(max_of(two & 0xffff, two >> 16));
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
  /// Beyond the last piece: zeros.
  DEVICE void load(GivenPiece* pieces, int round) const {
    const int piece = index(round);
    pieces->pairs = make_uint4(0, 0, 0, 0);
    if (piece >= kAll) return;
    const int row = piece / kInRow;
    const i64 at = Tensor::row(head * kHeads + row / kRows, row % kRows) + piece % kInRow * 8;
    pieces->pairs = *reinterpret_cast<const uint4*>(from + at);
  }
  DEVICE void store(const GivenPiece* pieces, int round, float inverse) const {
    const int piece = index(round);
    if (piece >= kAll) return;
    reinterpret_cast<uint2*>(to)[head * kAll + piece] = pieces->quantized(inverse);
  }
};

#if defined(V_TRANSPOSED_BY) && V_TRANSPOSED_BY == V_TRANSPOSED_BY_QUANTIZER
/// The same of V, which becomes V^T: HEAD_DIM rows of KEY_PITCH keys, zeros behind the last. A warp
/// has tiles of 32 keys and 32 columns; lane (c, h, t) of 4 x 2 x 4 has columns 8c .. 8c + 7 of keys
/// 16h + 2t, + 1, + 8 and + 9. They become bytes 16h + 4t .. + 3 of a row: the order in which lanes
/// hold P. Even columns of sixteen come before odd ones (fa_wgmma/v_transposer.cuh says why). Eight
/// lanes write a sector of 32 bytes.
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

/// One head of a tensor: its factor, and its elements.
template <typename Pieces>
DEVICE void quantize_head(const Pieces& head, float* factor, u32* of_warps) {
  constexpr int kAtOnce =
      kKeepsElements ? Pieces::kRounds : ceil_div(kQuantBatch, Pieces::kARound);
  GivenPiece pieces[kAtOnce][Pieces::kARound];
  const auto load = [&](int round) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) head.load(pieces[i], round + i);
  };
  u32 most = 0;
#pragma unroll 1
  for (int round = 0; round < Pieces::kRounds; round += kAtOnce) {
    load(round);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
      for (const GivenPiece& piece : pieces[i]) most = piece.magnitudes(most);
    }
  }
  const float by = factor_of(largest_of_cluster(most, of_warps));
  if (quant_rank() == 0 && threadIdx.x == 0) *factor = by;
  const float inverse = 1.0f / by;
  // Backwards: what was read last is the likeliest to be in the L2 cache still.
#pragma unroll 1
  for (int round = (Pieces::kRounds - 1) / kAtOnce * kAtOnce; round >= 0; round -= kAtOnce) {
    if (!kKeepsElements) load(round);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) head.store(pieces[i], round + i, inverse);
  }
}

/// By every CTA of a grid of 3 * BATCH * KV_HEADS clusters. `factors`: those of q, of k and of v,
/// each (BATCH, KV_HEADS); elements: contiguous (batch, heads, sequence, HEAD_DIM), unless V is
/// transposed.
DEVICE void quantize(const u16* q, const u16* k, const u16* v, u8* q_fp8, u8* k_fp8, u8* v_fp8,
                     float* factors) {
  __shared__ u32 of_warps[kQuantWarps * QUANT_CLUSTER];
  constexpr int kParts = BATCH * KV_HEADS;
  if (QUANT_CLUSTER > 1) cluster_arrive();
  grid_dependency_wait();
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const int unit = static_cast<int>(blockIdx.x) / QUANT_CLUSTER;
  const int head = unit % kParts;
  if (unit < kParts) {
    quantize_head(RowPieces<QTensor, kHeadGroup, SEQ_Q>{q, q_fp8, head}, factors + unit, of_warps);
  } else if (unit < 2 * kParts) {
    quantize_head(RowPieces<KTensor, 1, SEQ_KV>{k, k_fp8, head}, factors + unit, of_warps);
  } else {
    quantize_head(VPieces{v, v_fp8, head}, factors + unit, of_warps);
  }
}
