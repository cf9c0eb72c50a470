// f32_softmax.cuh: Keeps S in f32, as wgmma leaves it, and makes P of it by the online softmax.
#pragma once

#include "common/tma.cuh"
#include "common/wgmma.cuh"
#include "fa_wgmma/exp2.cuh"
#include "fa_wgmma/row_max.cuh"
#include "fa_wgmma/shared_storage.cuh"

WGMMA_DEFINE_QK(wgmma_qk, wgmma_qk_zero, BLOCK_N)

DEVICE float* accumulator_of(ScoreFragment& scores) { return &scores.at[0][0][0]; }

/// S of a KV block; F16Softmax (f16_softmax.cuh) has the same members.
struct F32Softmax {
  ScoreFragment s;

  /// The work tile's Q stays in shared memory.
  DEVICE void begin(u32, int, int, float) {}

  /// Begins S of the KV block in a stage, and commits it.
  DEVICE void issue_qk(const SharedStorage& storage, int row_block, int stage) {
    const u64 q = make_smem_desc_k_major<kBoxBytes>(storage.q() + row_block * 64 * kBoxBytes);
    const u64 k = make_smem_desc_k_major<kBoxBytes>(storage.k(stage));
    wgmma_qk_zero(accumulator_of(s), q, k);
#pragma unroll
    for (int step = 1; step < kDSteps; ++step) {
      const u64 column = step % kBoxSteps * kKStep;
      const u64 box = step / kBoxSteps * (kBoxBytes / 16);
      wgmma_qk(accumulator_of(s), q + box * BLOCK_M + column, k + box * BLOCK_N + column);
    }
    wgmma_commit();
  }

  DEVICE void pin_here() { pin<BLOCK_N / 2>(accumulator_of(s)); }

  /// Returns true when O must be multiplied by `rescale`.
  DEVICE bool update_row_max(SoftmaxState& state, float (&rescale)[2]) {
    if (kLazyRescale && stays_below_threshold(state, s)) return false;
    raise_row_max(state, s, rescale);
    return true;
  }

  /// S becomes P, still in f32, and is added to row_sum.
  DEVICE void make_p(SoftmaxState& state) { scores_to_p<kPingpong>(state, s); }

  /// P of a k-step's keys, rounded, as an A operand.
  DEVICE void pack_p_step(u32 (&a)[4], int step) const { ::pack_p_step(a, s, step); }

  /// S becomes P in the registers of an A operand; S stays as it is. The branch on P keeps a wait
  /// for PV behind the exponentials. Returns true when O must be multiplied by `rescale`.
  DEVICE bool late_softmax(SoftmaxState& state, float (&rescale)[2], u32* p, bool fresh) const {
    PFragment<1, kNTiles> fragment;
    const bool rises = ::late_softmax(fragment, state, s, fresh,
                                      [&] { raise_row_max(state, s, rescale); });
#pragma unroll
    for (int i = 0; i < 4 * kPSteps; ++i) p[i] = fragment.at[0][i / 4][i % 4];
    return rises;
  }

  /// False, which the compiler cannot know before the last exponential.
  DEVICE bool is_impossible(const SoftmaxState& state) const {
    const float(&last)[4] = s.at[0][kNTiles - 1];
    return kRowSumInO ? (__float_as_int(last[0]) | __float_as_int(last[2])) < 0
                      : state.row_sum[0][0] + state.row_sum[0][1] < 0.0f;
  }
};
