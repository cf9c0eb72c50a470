// mma_bias.cuh: Adds the problem's bias to mma accumulators.
#pragma once

#include "common/bias.cuh"
#include "common/mma_softmax.cuh"

#if BIAS
/// Whether two neighbouring 16-bit elements of an even key can be read at once.
constexpr bool kBiasInPairs = sizeof(bias_elem) == 2 && BIAS_KEY_STRIDE == 1 && SEQ_KV % 2 == 0 &&
                              BIAS_BATCH_STRIDE % 2 == 0 && BIAS_HEAD_STRIDE % 2 == 0 &&
                              BIAS_ROW_STRIDE % 2 == 0;

/// A score that has no scale yet, with its bias.
DEVICE float biased(float score, bias_elem element) {
  return fmaf(bias_value(element), 1.0f / SOFTMAX_SCALE, score);
}

/// Adds the bias to S, which has no scale yet. `key` is that of this lane's first element, and
/// row_of(16 * m + 8 * half) the row of the bias for those rows. Keys behind the last are not read.
template <int kM, int kN, typename RowOf>
DEVICE void add_bias(Scores<kM, kN>& scores, int key, RowOf row_of) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const bias_elem* const row = row_of(16 * m + 8 * half) + i64{key} * BIAS_KEY_STRIDE;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
        float(&s)[4] = scores.at[m][n];
        if constexpr (kBiasInPairs) {
          if (key + 8 * n >= SEQ_KV) continue;
          const u32 pair = *reinterpret_cast<const u32*>(row + 8 * n);
          s[2 * half] = biased(s[2 * half], static_cast<elem>(pair));
          s[2 * half + 1] = biased(s[2 * half + 1], static_cast<elem>(pair >> 16));
        } else {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            if (key + 8 * n + i >= SEQ_KV) continue;
            s[2 * half + i] = biased(s[2 * half + i], row[(8 * n + i) * BIAS_KEY_STRIDE]);
          }
        }
      }
    }
  }
}
#endif
