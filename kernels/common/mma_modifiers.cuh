// mma_modifiers.cuh: Applies ALiBi, sinks and lengths at run time to mma accumulators.
#pragma once

#include "common/modifiers.cuh"
#include "common/mma_softmax.cuh"

/// Masks S by the keys that rows see: `seen(m, half)` is the range of a row. `key` is that of this
/// lane's first element.
template <int kM, int kN, typename Seen>
DEVICE void mask_by_range(Scores<kM, kN>& scores, int key, Seen seen) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const KeyRange range = seen(m, half);
      const int begin = range.begin - key, end = range.end - key;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          bool masked = 8 * n + i >= end;
          if (kBoundedBefore || kLengths) masked = masked || 8 * n + i < begin;
          if (masked) scores.at[m][n][2 * half + i] = NEG_INF;
        }
      }
    }
  }
}

/// ALiBi of a row: what S falls by for each key between it and its query, and how far the query is
/// behind this lane's first key.
struct AlibiRow {
  float slope;
  int behind;
};

/// Adds ALiBi to S. `row_of(16 * m + 8 * half)` is a row's.
template <int kM, int kN, typename RowOf>
DEVICE void add_alibi(Scores<kM, kN>& scores, RowOf row_of) {
  // No visible key is after its query.
  constexpr bool kOneSided = kBoundedAfter && PREFIX_KEYS == 0 &&
                             DIAGONAL + KEYS_AFTER <= SEQ_KV - SEQ_Q;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const AlibiRow row = row_of(16 * m + 8 * half);
      const float first = static_cast<float>(row.behind);
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& s = scores.at[m][n][2 * half + i];
          if (kOneSided) {
            s = fmaf(row.slope, static_cast<float>(8 * n + i), fmaf(-row.slope, first, s));
          } else {
            s = fmaf(-row.slope, fabsf(first - static_cast<float>(8 * n + i)), s);
          }
        }
      }
    }
  }
}

/// Before the first KV block: the sink is a key without a value, which has been seen.
template <int kM, int kD, typename ScoreOf>
DEVICE void begin_with_sink(State<kM, kD>& state, int lane, ScoreOf score_of) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      state.row_max[m][half] = score_of(16 * m + 8 * half);
      state.row_sum[m][half] = lane % 4 == 0 ? 1.0f : 0.0f;
    }
  }
}
