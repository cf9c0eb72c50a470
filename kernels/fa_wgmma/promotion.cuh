// promotion.cuh: Says where PV is summed: in O, or in registers of its own, from which it is added
// to O in f32. The tensor cores' sums of fp8 products have fewer bits; notes.md, "FP8", has what
// else was tried.
#pragma once

#include "common/wgmma.cuh"
#include "fa_wgmma/traits.cuh"

#if defined(PROMOTED_COLUMNS) && PROMOTED_COLUMNS > 0
WGMMA_DEFINE_PV_RS(wgmma_pv_piece, PROMOTED_COLUMNS)
#else
WGMMA_DEFINE_PV_RS(wgmma_pv_piece, VALUE_DIM)
#endif

/// A zero that ptxas does not know: the wgmma does not add to its accumulator. Where a wgmma
/// plainly begins at zero, ptxas gives it registers of its own, and spills.
DEVICE u32 from_zero() { return blockIdx.z; }

/// o = o * factors + pv, of as many columns as are promoted together; factors: of a lane's two
/// rows. Where O has been rescaled already, o += pv.
template <int kCount>
DEVICE void promote(float* o, const float* pv, const float (&factors)[2],
                    bool rescaled = kRescaleSeparately) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    o[i] = rescaled ? o[i] + pv[i] : fmaf(o[i], factors[i % 4 / 2], pv[i]);
  }
}

/// Zeros that NVVM does not know: of known ones it keeps sums of more than 64 registers in local
/// memory.
template <int kCount>
DEVICE void clear(float* values) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("mov.f32 %0, 0f00000000;" : "=f"(values[i]));
}

/// The wgmmas of PV add to O at once.
struct PvInO {
  DEVICE void begin_work_tile() {}
  DEVICE void keep_rescale(const float (&)[2]) {}
  DEVICE static float* accumulator(float* o) { return o; }
  DEVICE static u32 adds(int) { return 1; }
  DEVICE void add_to(float*) {}
  DEVICE void add_to(float*, const float (&)[2]) {}
  DEVICE static float sum(const float* o, int i) { return o[i]; }
  DEVICE void end_block(float*) {}
  DEVICE void flush(float*) {}
};

/// PV of kPromotedBlocks KV blocks has registers of its own. It is added to O when they are
/// complete.
struct PromotedPv {
  float sums[kPvInPieces ? kPieceBuffers * kPromotedColumns / 2 : 4 * kAccTiles];
  float rescale[2];  // what O is multiplied by before PV is added
  u32 blocks;        // KV blocks whose PV is in the sums

  DEVICE void begin_work_tile() {
#pragma unroll
    for (float& each : sums) each = 0.0f;
    if constexpr (kMayHaveNoBlock) rescale[0] = rescale[1] = 1.0f;
    blocks = 0;
  }
  /// Keeps what O must be multiplied by, for the KV block whose P was just made.
  DEVICE void keep_rescale(const float (&latest)[2]) {
    if (kRescaleSeparately) return;
    rescale[0] = latest[0];
    rescale[1] = latest[1];
  }
  /// What the wgmmas of PV accumulate in.
  DEVICE float* accumulator(float* o) { return kPvInPieces ? o : sums; }
  /// Whether the wgmma of a k-step adds to its accumulator.
  DEVICE u32 adds(int step) const {
    return step > 0 ? 1 : kPromotedBlocks > 1 ? blocks : from_zero();
  }
  DEVICE void add_to(float* o) { add_to(o, rescale); }
  DEVICE void add_to(float* o, const float (&factors)[2]) {
    promote<4 * kAccTiles>(o, sums, factors);
  }
  /// An element of O with the PV that is still to be added.
  DEVICE float sum(const float* o, int i) const { return o[i] + sums[i]; }
  /// After PV of a KV block, before that of the next.
  DEVICE void end_block(float* o) {
    if constexpr (kPromotedBlocks > 1) {
      if (++blocks < kPromotedBlocks) return;
    }
    add_to(o);
    if constexpr (kPromotedBlocks > 1) blocks = 0;
  }
  /// The scale of O rises: PV of the former scale is added before. A warp decides it for itself, so
  /// the sum goes on from zeros: how a wgmma begins is the same for all warps of a warpgroup.
  DEVICE void flush(float* o) {
    if constexpr (kPromotedBlocks > 1) {
      if (blocks) {
        add_to(o);
        clear<4 * kAccTiles>(sums);
      }
    }
  }
};
using Pv = Select<kPromote, PromotedPv, PvInO>;

/// PV of a KV block, some columns at a time and for them some keys at a time, each added to O
/// while, where two have room, the next is computed: PV of all columns would not fit the registers
/// beside O, and of more keys would lose more bits.
template <typename Consumer>
struct PiecesOfPv {
  static constexpr int kCount = kPromotedColumns / 2;  // registers of a piece

  Consumer& consumer;
  u64 v;  // the descriptor of the KV block's V

  DEVICE PiecesOfPv(Consumer& consumer_, int stage)
      : consumer(consumer_), v(Consumer::v_descriptor(consumer.storage.pv_operand(stage))) {
    // Else they would be kept from one KV block to the next, as inputs of issue().
#pragma unroll
    for (float& each : consumer.pv.sums) each = 0.0f;
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
                    consumer.pv.rescale, kRescaleSeparately || piece % kKeyPieces > 0);
    if (more && kPieceBuffers == 1) {
      wgmma_fence();
      issue(piece + 1);
    }
    if (!more) pin<4 * kPSteps>(consumer.p);
  }

 private:
  DEVICE float* registers(int piece) { return consumer.pv.sums + piece % kPieceBuffers * kCount; }

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
