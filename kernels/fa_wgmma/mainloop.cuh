// mainloop.cuh: Iterates over a warpgroup's KV blocks: one wgmma at a time, or QK^T of each beside
// PV of the one before, with one set of registers for P or two.
#pragma once

#include "fa_wgmma/exp2.cuh"
#include "fa_wgmma/pipeline_state.cuh"
#include "fa_wgmma/promotion.cuh"

template <typename Consumer>
struct Mainloop {
  Consumer& consumer;

  /// One wgmma at a time.
  DEVICE void serial() {
#pragma unroll 1
    for (int blocks = consumer.remaining;; --blocks) {
      consumer.compute_s(true);
      if constexpr (kLateRescale) {
        if (late_softmax(consumer.p, blocks == consumer.remaining)) consumer.rescale_o();
        consumer.pin_operands(consumer.p);
      } else {
        const bool rises = consumer.online_softmax();
        if (kRescaleSeparately && rises) rescale();
        consumer.pack_p_operand();
      }
      start_pv();
      if (blocks == 1) return;
      consumer.wait_block();
      consumer.release_v(consumer.at);
      consumer.at = consumer.at.next();
    }
  }

  /// PV of a KV block together with QK^T of the next (intra-warpgroup overlap).
  DEVICE void pipelined() {
    consumer.compute_s(consumer.remaining == 1);
    consumer.online_softmax();
    consumer.pack_p_operand();
#pragma unroll 1
    for (int blocks = consumer.remaining; blocks > 1; --blocks) {
      if constexpr (kPvInPieces) {
        iteration_in_pieces(blocks == 2);
      } else {
        iteration(blocks == 2);
      }
    }
    start_pv();
  }

  /// The same with P in two sets of registers: P is packed as its exponentials come, beside PV of
  /// the block before, which reads the other one. S stays as it is, so row_max need not be looked
  /// at first.
  DEVICE void pipelined_late() {
    consumer.compute_s(consumer.remaining == 1);
    late_softmax(consumer.p, true);
    consumer.pin_operands(consumer.p);
#pragma unroll 1
    for (int blocks = consumer.remaining;; blocks -= 2) {
      if (blocks == 1) return start_pv(consumer.p);
      iteration_late(consumer.p, consumer.other_p, blocks == 2);
      if (blocks == 2) return start_pv(consumer.other_p);
      iteration_late(consumer.other_p, consumer.p, blocks == 3);
    }
  }

 private:
  /// O, and PV that has not been added yet, take the scale of the risen row_max.
  DEVICE void rescale() {
    consumer.pv.flush(consumer.acc_o());
    consumer.rescale_o();
  }
  DEVICE bool late_softmax(u32* p, bool fresh) {
    return consumer.f32_softmax.late_softmax(consumer.state, consumer.rescale, p, fresh);
  }

  DEVICE void start_pv() { start_pv(consumer.p); }
  DEVICE void start_pv(const u32* p) {
    mbarrier_wait(consumer.storage.pv_full(consumer.at.stage), consumer.at.phase);
    if constexpr (kPvInPieces) {
      consumer.pv.keep_rescale(consumer.rescale);
      PiecesOfPv<Consumer> pieces(consumer, consumer.at.stage);
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) pieces.finish(piece);
    } else {
      wgmma_fence();
      consumer.issue_pv(consumer.at, p);
    }
  }

  /// S of the next KV block and PV of the present one, both in flight.
  DEVICE void issue_both(const PipelineState& before, const u32* p, bool last) {
    mbarrier_wait(consumer.storage.k_full(consumer.at.stage), consumer.at.phase);
    consumer.turns.wait();
    wgmma_fence();
    consumer.issue_qk();
    mbarrier_wait(consumer.storage.pv_full(before.stage), before.phase);
    wgmma_fence();
    consumer.issue_pv(before, p);
    consumer.turns.pass_on(last);
  }
  /// S of the next KV block is here, PV may still be in flight.
  DEVICE void take_s() {
    wgmma_wait<1>();
    consumer.take_scores();
  }

  /// S of the next KV block and, while its softmax is computed, PV of the present one.
  DEVICE void iteration(bool last) {
    const auto before = consumer.at;
    consumer.at = consumer.at.next();
    issue_both(before, consumer.p, last);
    take_s();
    const bool rises = consumer.online_softmax();
    if (kFencedOverlap) consumer.fence_softmax();
    consumer.wait_block();
    consumer.release_v(before);
    if (kRescaleSeparately && rises) rescale();
    consumer.pack_p_operand();
  }

  DEVICE void iteration_late(u32* p, u32* next_p, bool last) {
    const auto before = consumer.at;
    consumer.at = consumer.at.next();
    issue_both(before, p, last);
    take_s();
    const bool rises = late_softmax(next_p, false);
    consumer.wait_block();
    consumer.release_v(before);
    if (rises) consumer.rescale_o();
    consumer.pin_operands(next_p);
  }

  /// The same with PV in pieces, each beside its share of the exponentials.
  DEVICE void iteration_in_pieces(bool last) {
    const auto before = consumer.at;
    consumer.at = consumer.at.next();
    mbarrier_wait(consumer.storage.k_full(consumer.at.stage), consumer.at.phase);
    consumer.turns.wait();
    wgmma_fence();
    consumer.issue_qk();
    mbarrier_wait(consumer.storage.pv_full(before.stage), before.phase);
    consumer.pv.keep_rescale(consumer.rescale);
    PiecesOfPv<Consumer> pieces(consumer, before.stage);
    consumer.turns.pass_on(last);
    take_s();
    const bool rises = consumer.softmax().update_row_max(consumer.state, consumer.rescale);
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      scores_to_p<kPingpong, kPieces>(consumer.state, consumer.f32_softmax.s, piece);
      if (kFencedOverlap) consumer.fence_softmax();
      pieces.finish(piece);
    }
    consumer.release_v(before);
    if (kRescaleSeparately && rises) consumer.rescale_o();
    consumer.pack_p_operand();
  }
};
