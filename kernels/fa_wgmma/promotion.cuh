// promotion.cuh - PV of a KV block is added to O in f32: the tensor cores' sums of fp8 products have
// fewer bits. notes.md, "FP8", has what else was tried.
#pragma once

#include "common/wgmma.cuh"
#include "fa_wgmma/traits.cuh"

WGMMA_DEFINE_PV_RS_IF(wgmma_pv_piece, 64)

/// o = o * factors + pv, of as many columns as are promoted together; factors: of a lane's two rows.
DEVICE void promote(float* o, const float* pv, const float (&factors)[2]) {
#pragma unroll
  for (int i = 0; i < kPromotedColumns / 2; ++i) o[i] = fmaf(o[i], factors[i % 4 / 2], pv[i]);
}

template <typename Consumer>
DEVICE float* piece_of_pv(Consumer& consumer, int piece) {
  return consumer.block_o + piece % 2 * kPromotedColumns / 2;
}

template <typename Consumer>
DEVICE void issue_piece(Consumer& consumer, int piece) {
  const u64 rows = static_cast<u64>(piece) * kPromotedColumns * kKeyBoxBytes / 16;
  const u64 v =
      Consumer::v_descriptor(consumer.storage.pv_operand(consumer.at.stage)) + rows;
  float* const pv = piece_of_pv(consumer, piece);
  // A zero that ptxas does not know: else it gives every piece registers of its own, and spills.
  wgmma_pv_piece(pv, consumer.p, v, blockIdx.z);
#pragma unroll
  for (int step = 1; step < kPSteps; ++step) {
    wgmma_pv_piece(pv, consumer.p + 4 * step, v + Consumer::v_step(step), 1);
  }
  wgmma_commit();
}

/// PV of the present KV block, some columns at a time, each added while the next is computed: PV of
/// all columns would not fit the registers beside O.
template <typename Consumer>
DEVICE void pv_in_pieces(Consumer& consumer) {
  // Else they would be kept from one KV block to the next, as inputs of issue_piece.
#pragma unroll
  for (float& each : consumer.block_o) each = 0.0f;
  wgmma_fence();
  issue_piece(consumer, 0);
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    if (piece + 1 < kPieces) {
      wgmma_fence();
      issue_piece(consumer, piece + 1);
      wgmma_wait<1>();
    } else {
      wgmma_wait<0>();
    }
    float* const pv = piece_of_pv(consumer, piece);
    pin<kPromotedColumns / 2>(pv);
    promote(consumer.acc_o() + piece * kPromotedColumns / 2, pv, consumer.rescale);
  }
  pin<4 * kPSteps>(consumer.p);
}
