// consumer.cuh: Computes one warpgroup's share of a work tile: 64 rows of Q against the KV blocks
// of one split, to row_max, row_sum and the accumulator of O.
#pragma once

#include "common/expression.cuh"
#include "common/launch.cuh"
#include "common/mma_modifiers.cuh"
#include "common/mma_softmax.cuh"
#include "common/softcap.cuh"
#include "common/tma.cuh"
#include "common/wgmma.cuh"
#include "fa_wgmma/bias_tile.cuh"
#include "fa_wgmma/f16_softmax.cuh"
#include "fa_wgmma/f32_softmax.cuh"
#include "fa_wgmma/mainloop.cuh"
#include "fa_wgmma/named_barriers.cuh"
#include "fa_wgmma/ones.cuh"
#include "fa_wgmma/pipeline_state.cuh"
#include "fa_wgmma/promotion.cuh"
#include "fa_wgmma/shared_storage.cuh"
#include "fa_wgmma/tile_scheduler.cuh"

WGMMA_DEFINE_PV_RS(wgmma_pv_rs, VALUE_DIM)
WGMMA_DEFINE_PV_SS(wgmma_pv_ss, VALUE_DIM)
#ifdef V_ROWS
static_assert(V_ROWS == kVRows, "the manifest's rows of V^T are those of the tiles of O");
WGMMA_DEFINE_PV_RS(wgmma_pv_and_row_sum, V_ROWS)
#else
WGMMA_DEFINE_PV_RS(wgmma_pv_and_row_sum, 72)
#endif

struct Consumer {
  SharedStorage storage;
  int warpgroup;
  int row_block;  // which 64 rows of the CTA's
  int split;      // which share of the CTA's KV blocks
  Turns turns;
  int lane;
  int warp_row;  // the first of the warp's 16 rows, within the CTA
  WorkTile tile;
  int remaining;     // KV blocks of the split
  PipelineState at;  // the present KV block
  Descales descales;
  State<1, kAccTiles> state;
  // S, and how it becomes P. One is used; without the other NVVM orders registers differently.
  F32Softmax f32_softmax;
  F16Softmax f16_softmax;
  u32 p[4 * kPSteps];
  u32 other_p[kTwoPBuffers ? 4 * kPSteps : 1];  // P, in turn with p
  float rescale[2];                             // what O must be multiplied by
  Pv pv;                                        // where PV is summed
  float v_descale;
#if MODIFIED
  Modifiers modifiers;
#endif
#if BIAS
  BiasTile bias_tile;
#endif
#if ALIBI
  float slope;
#endif
#if LENGTHS
  KeyRange seen[2];  // keys that this lane's rows see
#endif

  DEVICE auto& softmax() {
    if constexpr (kF16Scores) {
      return f16_softmax;
    } else {
      return f32_softmax;
    }
  }

  DEVICE Consumer(SharedStorage storage_, int warpgroup_, const Descales& descales_ = {})
      : storage(storage_),
        warpgroup(warpgroup_),
        row_block(warpgroup_ % kRowBlocks),
        split(warpgroup_ / kRowBlocks),
        turns{row_block, true},
        lane(static_cast<int>(threadIdx.x) % 32),
        warp_row(row_block * 64 + static_cast<int>(threadIdx.x) % 128 / 32 * 16),
        at{split, split, 0},
        descales(descales_)
#if BIAS
        ,
        bias_tile(storage.bias(static_cast<int>(threadIdx.x) / 32), lane)
#endif
  {
  }

  /// Before the KV blocks of a work tile, which is the CTA's first or not. True: there are any.
  DEVICE bool begin(const WorkTile& tile_, bool first, u32 q_phase) {
    tile = tile_;
    reset_state();
    if (remaining <= 0) return false;
    if (first) turns.begin();
#if MODIFIED
    begin_modifiers();
#endif
    mbarrier_wait(storage.q_full(row_block), q_phase);
    softmax().begin(storage.q(), warp_row, lane, state.scale());
    if (first) stagger();
    return true;
  }

  /// All KV blocks of a work tile; the last PV is still in flight when it returns.
  DEVICE void mainloop(const WorkTile& tile_, bool first, u32 q_phase) {
    if (!begin(tile_, first, q_phase)) return;
    if constexpr (kTwoPBuffers) {
      Mainloop<Consumer>{*this}.pipelined_late();
    } else if constexpr (kIntraWgOverlap) {
      Mainloop<Consumer>{*this}.pipelined();
    } else {
      Mainloop<Consumer>{*this}.serial();
    }
  }

  /// The same resident KV blocks once more, one wgmma at a time.
  DEVICE void redo() {
    reset_state();
    at = {split, split, 0};
    Mainloop<Consumer>{*this}.serial();
  }

  /// Position within its head of this lane's first row; the second is 8 further.
  DEVICE int position() const { return tile.row + warp_row % kPositions + lane / 4; }
  /// Head of the warp's rows, counted over the batch.
  DEVICE int head() const { return tile.head + warp_row / kPositions; }

  /// After the last PV; O is complete.
  DEVICE void wait_pv() {
    if constexpr (kPvInPieces) return;
    finish_pv();
    pv.add_to(acc_o());
  }
  /// After PV of a KV block, before that of the next.
  DEVICE void wait_block() {
    if constexpr (kPvInPieces) return;
    finish_pv();
    pv.end_block(acc_o());
  }

  /// After `wait_pv`: the last KV block's V may be overwritten.
  DEVICE void release_last_v() const {
    if (kPersistent && remaining > 0) release_v(at);
  }

  /// row_sum where it is a tile of O; after the last PV, for which it waits.
  DEVICE void take_row_sum() {
    wait_pv();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      state.row_sum[0][half] = acc_o()[4 * (kAccTiles - 1) + 2 * half] * (1.0f / kOne);
    }
  }

  /// In the stages the first KV block of the next work tile comes after the last one of this.
  DEVICE void end_work_tile() {
    if (kPersistent && remaining > 0) {
      at = at.next();
      at.iteration = split;
    }
  }

  // ---- what mainloops are made of ----

  DEVICE float* acc_o() { return &state.acc_o[0][0][0]; }
  DEVICE float* pv_accumulator() { return pv.accumulator(acc_o()); }

  DEVICE void release_k(const PipelineState& block) const {
    if (!kResident && lane == 0) mbarrier_arrive(storage.k_empty(block.stage));
    if (kPersistent && block.iteration + INTRA_CTA_SPLITS >= tile.cta_n_blocks && lane == 0) {
      mbarrier_arrive(storage.q_empty(row_block));
    }
  }
  DEVICE void release_v(const PipelineState& block) const {
    if (!kResident && lane == 0) mbarrier_arrive(storage.pv_empty(block.stage));
  }

  /// S of the present KV block is here: K may be overwritten, S is capped and biased, and keys
  /// are masked that a row may not see.
  DEVICE void take_scores() {
    softmax().pin_here();
    release_k(at);
#if SOFTCAPPED
    cap_scores(softmax().s);
#endif
#if BIAS
    bias_tile.add_to(softmax().s, first_key(tile, at.iteration));
    const int next = at.iteration + INTRA_CTA_SPLITS;
    if (next < tile.cta_n_blocks) bias_tile.copy(first_key(tile, next));
#endif
#if ALIBI
    const int key = first_key(tile, at.iteration) + lane % 4 * 2;
    add_alibi(softmax().s, [&](int below) {
      return AlibiRow{slope, position() + below + (SEQ_KV - SEQ_Q) - key};
    });
#endif
#if SCORE_EXPR
    change_by_expression(softmax().s, first_key(tile, at.iteration) + lane % 4 * 2,
                         [&](int below) { return row_place(below); }
                         WITH_TENSORS(modifiers.tensors));
#endif
    mask(softmax().s);
#if MASK_EXPR
    const int first = first_key(tile, at.iteration);
    if (is_partial(tile, first)) {
      mask_by_expression(softmax().s, first + lane % 4 * 2,
                         [&](int below) { return row_place(below); }
                         WITH_TENSORS(modifiers.tensors));
    }
#endif
  }
#if MASK_EXPR || SCORE_EXPR
  DEVICE RowPlace row_place(int below) const {
    return {head() / HEADS, head() % HEADS, position() + below};
  }
#endif
  template <typename Block>
  DEVICE void mask(Block& block) const {
    const int key = first_key(tile, at.iteration);
#if LENGTHS
    const bool hides = max(seen[0].begin, seen[1].begin) > key ||
                       key + BLOCK_N > min(seen[0].end, seen[1].end);
    if (!__any_sync(0xffffffffu, hides)) return;
    mask_by_range(block, key + lane % 4 * 2, [&](int, int half) { return seen[half]; });
    return;
#endif
    const int first_position = tile.row + row_block * 64 % kPositions;
    constexpr int kLast = (kPositions < 64 ? kPositions : 64) - 1;
    if (kAnyMask && (key + BLOCK_N > key_end(first_position) ||
                     (kBoundedBefore && key < key_begin(first_position + kLast)))) {
      mask_scores<kRaggedKeys>(block, position(), key + lane % 4 * 2);
    }
  }

  /// S of the present KV block, with no other wgmma of the warpgroup in flight.
  DEVICE void compute_s(bool last) {
    mbarrier_wait(storage.k_full(at.stage), at.phase);
    turns.wait();
    wgmma_fence();
    issue_qk();
    turns.pass_on(last);
    wgmma_wait<0>();
    take_scores();
  }

  /// S of the present KV block: begun, and committed.
  DEVICE void issue_qk() { softmax().issue_qk(storage, row_block, at.stage); }

  /// The B operand of PV in a stage, and how far its k-steps are apart.
  DEVICE static u64 v_descriptor(u32 v) {
    return kVIsKMajor ? make_smem_desc_k_major<kKeyBoxBytes>(v)
                      : make_smem_desc_mn_major(v, BLOCK_N * 128);
  }
  DEVICE static constexpr u64 v_step(int step) {
    constexpr int kSteps = kKeyBoxBytes / 32;
    return kVIsKMajor ? step / kSteps * (kVRows * kKeyBoxBytes / 16) + step % kSteps * kKStep
                      : step * kMnStep;
  }

 private:
  friend struct Mainloop<Consumer>;

  DEVICE void reset_state() {
    state = State<1, kAccTiles>(kMayBeUnseen);
#if SINK
    if (split == 0 && cluster_rank() == 0) {
      grid_dependency_wait();
      begin_with_sink(state, lane, [&](int) { return modifiers.sink_score(head()); });
    }
#endif
    state.set_scale(descales.scores(tile.head));
    v_descale = descales.out(tile.head);
    remaining = ceil_div(tile.cta_n_blocks - split, INTRA_CTA_SPLITS);
    pv.begin_work_tile();
    // Hides the trip count, so that a loop stays a loop: of two unrolled iterations ptxas
    // interleaves the instructions, and spills (notes.md, "Compiler traps").
    asm("" : "+r"(remaining));
  }

#if MODIFIED
  /// Reads what the work tile's rows need of the tensors that change scores or hide keys.
  DEVICE void begin_modifiers() {
    if (kBias || kAlibi) grid_dependency_wait();
#if BIAS
    bias_tile.begin_rows(modifiers.bias, head(), tile.row + warp_row % kPositions);
    bias_tile.copy(first_key(tile, at.iteration));
#endif
#if ALIBI
    slope = modifiers.slope(head());
#endif
#if LENGTHS
#pragma unroll
    for (int half = 0; half < 2; ++half)
      seen[half] = seen_keys(modifiers.lengths, tile.head / HEADS, position() + 8 * half);
#endif
  }
#endif

  /// Row blocks begin STAGGER clocks after one another: else all compute softmax while the tensor
  /// cores idle, and then the other way round.
  DEVICE void stagger() const {
    if (kStagger == 0) return;
    const u32 begin = clock32();
    while (clock32() - begin < static_cast<u32>(row_block * kStagger)) {
    }
  }

  // ---- PV ----

  DEVICE void issue_pv(const PipelineState& block, const u32* p) {
    const u64 v = v_descriptor(storage.pv_operand(block.stage));
#pragma unroll
    for (int step = 0; step < kPSteps; ++step) {
      if (!kMmaPvIsRs) {
        const u64 a = make_smem_desc_k_major(storage.p(warpgroup)) + step / 4 * (64 * 8);
        wgmma_pv_ss(acc_o(), a + step % 4 * kKStep, v + v_step(step));
      } else {
        const u32 add = pv.adds(step);
        if constexpr (kRowSumInO) {
          wgmma_pv_and_row_sum(pv_accumulator(), p + 4 * step, v + v_step(step), add);
        } else {
          wgmma_pv_rs(pv_accumulator(), p + 4 * step, v + v_step(step), add);
        }
      }
    }
    wgmma_commit();
    pv.keep_rescale(rescale);
  }

  DEVICE void finish_pv() {
    wgmma_wait<0>();
    if (kMmaPvIsRs && !kInterleaved) pin<4 * kPSteps>(p);
    if constexpr (kTwoPBuffers) pin<4 * kPSteps>(other_p);
    pin<4 * kAccTiles>(pv_accumulator());
  }

  // ---- online softmax ----

  /// S becomes P. True when O must be multiplied by `rescale`.
  DEVICE bool online_softmax() {
    const bool rises = softmax().update_row_max(state, rescale);
    softmax().make_p(state);
    return rises;
  }

  /// Keeps a wait for PV behind the exponentials: a branch that is never taken, which the compiler
  /// cannot know. (A trap instead makes ptxas 13.0 serialise the wgmmas or ignore setmaxnreg:
  /// notes.md, "Compiler traps".)
  DEVICE void fence_softmax() {
    if (__any_sync(0xffffffffu, softmax().is_impossible(state)))
      asm volatile("nanosleep.u32 20;");
  }

  DEVICE void rescale_o() {
#pragma unroll
    for (int d = 0; d < kDTiles + kRowSumInO; ++d) {
#pragma unroll
      for (int i = 0; i < 4; ++i) state.acc_o[0][d][i] *= rescale[i / 2];
    }
  }

  /// P, rounded, as A operands; and everything that the next wgmmas read is in place.
  DEVICE void pack_p_operand() {
    const int row = warp_row % 64 + lane % 16;
    const u32 mine = storage.p(warpgroup) + row * 128 + ((lane / 16) ^ (row & 7)) * 16;
#pragma unroll
    for (int step = 0; step < kPSteps; ++step) {
      u32 a[4];
      softmax().pack_p_step(a, step);
      if (!kMmaPvIsRs) {
        stmatrix_x4((mine ^ (step % 4 * 32)) + step / 4 * (64 * 128), a);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) p[4 * step + i] = a[i];
      }
    }
    if (!kMmaPvIsRs) {
      async_proxy_fence();
      __syncwarp();  // a warp's wgmmas read its own rows only
    }
    pin_operands(p);
  }

  /// What the next PV reads and writes is in its registers.
  DEVICE void pin_operands(u32* operand) {
    if (kMmaPvIsRs) pin<4 * kPSteps>(operand);
    pin<4 * kAccTiles>(pv_accumulator());
  }
};
