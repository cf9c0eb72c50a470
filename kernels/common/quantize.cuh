// quantize.cuh: Quantizes q, k and v of 16 bits to fp8 elements and their factors. It is the first
// launch of a kernel that quantizes (--quant fused, decision 0018), on sm_90 and up.
//
// A cluster of QUANT_CLUSTER CTAs has one head of a tensor: the rows that share a factor. It finds
// the largest magnitude, which becomes the largest number of DTYPE, and writes the elements,
// contiguous. Between the two the elements stay in registers where they fit (QUANT_KEEP); else
// they are read again.
//
// With SMOOTH_K, K's mean over its rows is taken out first, as SageAttention does: all scores of a
// row of q move alike, which softmax does not see, and an offset that all keys share costs no bits.
//
// Magnitudes are compared as whole numbers: the bits of 16-bit floats without their sign are in
// order, infinity and NaN above all numbers. So an element that is not finite is never lost.
#pragma once

#include "common/quantize_pieces.cuh"
#if SMOOTH_K
#include "common/smooth_keys.cuh"
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
  const u32 bits = largest_of_cluster(max_of(most & 0xffff, most >> 16), of_warps);
  const float by = factor_of(given_to_float(bits));
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
/// transposed. `k_mean`: with SMOOTH_K, (BATCH, KV_HEADS, HEAD_DIM).
DEVICE void quantize(const u16* q, const u16* k, const u16* v, u8* q_fp8, u8* k_fp8, u8* v_fp8,
                     float* factors, float* k_mean) {
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
    using Keys = RowPieces<KTensor, 1, SEQ_KV>;
    const Keys keys{k, k_fp8, head};
#if SMOOTH_K
    SmoothKeys(keys).quantize(factors + unit, k_mean + head * HEAD_DIM, of_warps);
#else
    quantize_head(keys, factors + unit, of_warps);
#endif
  } else {
    quantize_head(VPieces{v, v_fp8, head}, factors + unit, of_warps);
  }
}
