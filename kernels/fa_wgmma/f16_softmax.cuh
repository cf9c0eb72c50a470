// f16_softmax.cuh: Runs the online softmax on S in f16 (f16_scores.cuh), with row_max as the offset
// of its codes.
//
// Rows of Q are divided by what each needs, so S never passes f16. row_max is kept as an f16
// offset: whole numbers, so that what O is multiplied by when it rises is exact.
#pragma once

#include "fa_wgmma/f16_scores.cuh"
#include "fa_wgmma/row_max.cuh"
#include "fa_wgmma/shared_storage.cuh"

/// A row that has seen no key yet, in place of its limit.
constexpr u32 kNoLimit = 0xfc00fc00u;

/// A warp's rows of Q and of S.
struct F16Softmax {
  QueryOperands q;
  F16Fragment s;
  CodeLine line;
  u32 limit[2];  // the S above which row_max must rise

  /// Q of a work tile is in shared memory.
  DEVICE void begin(u32 q_tile, int warp_row, int lane, float score_scale) {
    q.load(q_tile, warp_row, lane);
    u32 shift[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float most = q.magnitudes(half) * (kLargestElement / kLargestF16);
      shift[half] = most > 1.0f ? (__float_as_uint(most) >> 23) - 126 : 0;
      const bool finite = most < __uint_as_float(0x7f800000u);
      if (!finite) shift[half] = 0;
      line.set_scale(half, finite ? score_scale : __uint_as_float(0x7fffffffu), shift[half]);
      line.set_offset(half, kTopCode);
      limit[half] = kNoLimit;
    }
    q.divide(shift);
    pin<4 * kDSteps>(q.at);
  }

  /// Begins S of the KV block in a stage, and commits it.
  DEVICE void issue_qk(const SharedStorage& storage, int, int stage) {
    q.issue_qk(s, storage.k(stage));
  }

  DEVICE void pin_here() { s.pin_here(); }

  /// Returns true when O must be multiplied by `rescale`.
  DEVICE bool update_row_max(SoftmaxState&, float (&rescale)[2]) {
    u32 top[2];
    s.top(top);
    if (kLazyRescale) {
      const bool rises = max_f16x2(top[0], limit[0]) != limit[0] ||
                         max_f16x2(top[1], limit[1]) != limit[1];
      if (!__any_sync(0xffffffffu, rises)) return false;
    }
    const u32 rows = row_max_f16(top);
#pragma unroll
    for (int half = 0; half < 2; ++half) rescale[half] = raise(half, half_of(rows, half));
    return true;
  }

  /// S becomes codes.
  DEVICE void make_p(SoftmaxState&) {
#pragma unroll
    for (int n = 0; n < kNTiles; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) s.at[n][half] = line.codes(s.at[n][half], half);
    }
  }

  /// Codes of a k-step's keys as an A operand.
  DEVICE void pack_p_step(u32 (&a)[4], int step) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int n = kPTiles * step + i / 2 * 2;
      a[i] = pack_codes(s.at[n][i % 2], s.at[n + 1][i % 2]);
    }
  }

  /// False, which the compiler cannot know before the last code.
  DEVICE bool is_impossible(const SoftmaxState&) const {
    const u32(&last)[2] = s.at[kNTiles - 1];
    return static_cast<int>(last[0] | last[1]) < 0;
  }

 private:
  /// row_max of a row is at least that of a KV block; returns what O is multiplied by.
  DEVICE float raise(int half, float of_block) {
    if (kMayBeUnseen && of_block == NEG_INF) return 1.0f;
    const float before = half_of(line.offset[half], 0);
    const float wanted = line.offset_of(half, of_block);
    const bool fresh = limit[half] == kNoLimit;
    const float offset = !fresh && wanted >= before ? before : wanted;
    line.set_offset(half, offset);
    limit[half] = kLazyRescale ? limit_of(half, offset) : 0;
    return fresh ? 1.0f : fast_exp2((offset - before) * 0.125f);
  }
  /// The S whose code is the largest, a little less for the rounding of f16.
  DEVICE u32 limit_of(int half, float offset) const {
    const float highest = __fdividef(kMostCode - offset, half_of(line.scale[half], 0));
    const float less = fmaf(fabsf(highest), -0x1p-10f, highest);
    const float held = less > kLargestF16 ? kLargestF16 : less;
    return pack2_f16(held, held);
  }
};
