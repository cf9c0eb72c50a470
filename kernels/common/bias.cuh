// bias.cuh: Adds the problem's bias to scores, or hides the keys that it says.
#pragma once

#include "common/mma_softmax.cuh"

#define BIAS_INPUT 1  // the type of q
#define BIAS_F32 2
#define BIAS_BOOL 3  // 0: the key is hidden

constexpr bool kBias = BIAS != 0;

#if BIAS == BIAS_F32
using bias_elem = float;
#elif BIAS == BIAS_BOOL
using bias_elem = u8;
#else
using bias_elem = elem;
#endif

// BIAS_PARAMETER ends a parameter list where there is a bias, and is nothing else; BIAS_ARGUMENT
// ends a call.
#if BIAS
#define BIAS_PARAMETER , const bias_elem *__restrict__ bias
#define BIAS_ARGUMENT , bias

/// Finite numbers below it count as this one.
constexpr float kLeastBias = -65504.0f;

/// What a score that has its scale rises by.
DEVICE float bias_value(bias_elem element) {
#if BIAS == BIAS_BOOL
  return element == 0 ? NEG_INF : 0.0f;
#elif BIAS == BIAS_F32
  return element == NEG_INF ? NEG_INF : fmaxf(element, kLeastBias);
#elif DTYPE == DTYPE_F16
  return to_float(element);
#else
  const float value = to_float(element);
  return value == NEG_INF ? NEG_INF : fmaxf(value, kLeastBias);
#endif
}

/// A row of the bias, or its last one; `head` is counted over the batch.
DEVICE const bias_elem* bias_row(const bias_elem* bias, int head, int row) {
  const i64 of_head = i64{head / HEADS} * BIAS_BATCH_STRIDE + i64{head % HEADS} * BIAS_HEAD_STRIDE;
  return bias + of_head + i64{min_of(row, SEQ_Q - 1)} * BIAS_ROW_STRIDE;
}

/// Whether two neighbouring 16-bit elements of an even key can be read at once.
constexpr bool kBiasInPairs = sizeof(bias_elem) == 2 && BIAS_KEY_STRIDE == 1 && SEQ_KV % 2 == 0 &&
                              BIAS_BATCH_STRIDE % 2 == 0 && BIAS_HEAD_STRIDE % 2 == 0 &&
                              BIAS_ROW_STRIDE % 2 == 0;

/// Adds the bias to S, which has no scale yet. `key` is that of this lane's first element, and
/// row_of(16 * m + 8 * half) the row of the bias for those rows. Keys behind the last are not read.
template <int kM, int kN, typename RowOf>
DEVICE void add_bias(Scores<kM, kN>& scores, int key, RowOf row_of) {
  constexpr float kInverseScale = 1.0f / SOFTMAX_SCALE;
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
          s[2 * half] = fmaf(bias_value(static_cast<elem>(pair)), kInverseScale, s[2 * half]);
          s[2 * half + 1] =
              fmaf(bias_value(static_cast<elem>(pair >> 16)), kInverseScale, s[2 * half + 1]);
        } else {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            if (key + 8 * n + i >= SEQ_KV) continue;
            const float value = bias_value(row[(8 * n + i) * BIAS_KEY_STRIDE]);
            s[2 * half + i] = fmaf(value, kInverseScale, s[2 * half + i]);
          }
        }
      }
    }
  }
}
#else
#define BIAS_PARAMETER
#define BIAS_ARGUMENT
#endif
