// promotion.cuh - PV of some KV blocks is added to O in f32: the tensor cores' sums of fp8 products
// have fewer bits. notes.md, "FP8", has what else was tried.
#pragma once

#include "common/wgmma.cuh"
#include "fa_wgmma/traits.cuh"

#if defined(PROMOTED_COLUMNS) && PROMOTED_COLUMNS > 0
WGMMA_DEFINE_PV_RS(wgmma_pv_piece, PROMOTED_COLUMNS)
#else
WGMMA_DEFINE_PV_RS(wgmma_pv_piece, HEAD_DIM)
#endif

/// Whether a wgmma adds to what its accumulator was: not at all. A zero that ptxas does not know:
/// where a wgmma plainly begins at zero, ptxas gives it registers of its own, and spills.
DEVICE u32 from_zero() { return blockIdx.z; }

/// o = o * factors + pv, of as many columns as are promoted together; factors: of a lane's two rows.
/// Where O has been rescaled already, o += pv.
template <int kCount>
DEVICE void promote(float* o, const float* pv, const float (&factors)[2],
                    bool rescaled = kRescaleApart) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    o[i] = rescaled ? o[i] + pv[i] : fmaf(o[i], factors[i % 4 / 2], pv[i]);
  }
}

/// Zeros that NVVM does not know: of known ones it keeps sums of more than 64 registers in local memory.
template <int kCount>
DEVICE void clear(float* values) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("mov.f32 %0, 0f00000000;" : "=f"(values[i]));
}

/// PV of a KV block, some columns at a time and for them some keys at a time, each added to O while,
/// where two have room, the next is computed: PV of all columns would not fit the registers beside
/// O, and of more keys would lose more bits.
template <typename Consumer>
struct PiecesOfPv {
  static constexpr int kCount = kPromotedColumns / 2;  // registers of a piece

  Consumer& consumer;
  u64 v;  // the descriptor of the KV block's V

  DEVICE PiecesOfPv(Consumer& consumer_, int stage)
      : consumer(consumer_), v(Consumer::v_descriptor(consumer.storage.pv_operand(stage))) {
    // Else they would be kept from one KV block to the next, as inputs of issue().
#pragma unroll
    for (float& each : consumer.block_o) each = 0.0f;
    wgmma_fence();
    issue(0);
  }

  /// Adds a piece to O; the next one is in flight when it returns.
  DEVICE void finish(int piece) {
    const bool more = piece + 1 < kPieces;
    if (more && kPieceBuffers > 1) {
      wgmma_fence();
      issue(piece + 1);
      wgmma_wait<1>();
    } else {
      wgmma_wait<0>();
    }
    pin<kCount>(registers(piece));
    promote<kCount>(consumer.acc_o() + piece / kKeyPieces * kCount, registers(piece),
                    consumer.block_rescale, kRescaleApart || piece % kKeyPieces > 0);
    if (more && kPieceBuffers == 1) {
      wgmma_fence();
      issue(piece + 1);
    }
    if (!more) pin<4 * kPSteps>(consumer.p);
  }

 private:
  DEVICE float* registers(int piece) { return consumer.block_o + piece % kPieceBuffers * kCount; }

  DEVICE void issue(int piece) {
    constexpr int kSteps = kPSteps / kKeyPieces;
    const u64 rows = v + u64{piece / kKeyPieces} * kPromotedColumns * kKeyBoxBytes / 16;
    const int first = piece % kKeyPieces * kSteps;
#pragma unroll
    for (int step = first; step < first + kSteps; ++step) {
      wgmma_pv_piece(registers(piece), consumer.p + 4 * step, rows + Consumer::v_step(step),
                     step == first ? from_zero() : 1);
    }
    wgmma_commit();
  }
};
