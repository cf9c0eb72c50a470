// mma_softmax.cuh - online softmax on the accumulators of mma tiles: masks scores, keeps peaks,
// makes weights.
//
// A warp holds kM row tiles of 16; a lane's elements lie in rows lane / 4 and lane / 4 + 8 of each
// (`half` 0 and 1), and in columns 2 * (lane % 4) and the next of each 8-column tile. Four
// neighbouring lanes share a row.
#pragma once

#include "common/prelude.cuh"
#include "common/problem.cuh"

/// exp(SOFTMAX_SCALE * s) == 2^(kScale * s)
constexpr float kScale = SOFTMAX_SCALE_LOG2E;
/// Lazy rescaling lets scores exceed the peak by so much: weights stay below 2^8, far inside the
/// range of f16.
constexpr float kLazyRise = 8.0f / kScale;

template <int kM, int kN>
struct Scores {
  float at[kM][kN][4];
};

/// A warp's running output and softmax; `peak` is the score that the weights' exponents refer to.
template <int kM, int kD>
struct State {
  float out[kM][kD][4];
  float peak[kM][2];
  float sum[kM][2];  // this lane's share of it

  DEVICE State() {
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      peak[m][0] = peak[m][1] = NEG_INF;
      sum[m][0] = sum[m][1] = 0.0f;
#pragma unroll
      for (int d = 0; d < kD; ++d) {
#pragma unroll
        for (int i = 0; i < 4; ++i) out[m][d][i] = 0.0f;
      }
    }
  }
};

/// Scores of keys that a row may not see become -inf. Row and key are those of this lane's first
/// element; kEnd: the tile may reach past the last key. Two registers say it all: what differs
/// between a lane's elements is known to the compiler.
template <bool kEnd, int kM, int kN>
DEVICE void mask_scores(Scores<kM, kN>& scores, int row, int key) {
  const int keys_left = SEQ_KV - key;
  const int diagonal = row + (SEQ_KV - SEQ_Q) - key;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int n = 0; n < kN; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int element_row = 16 * m + 8 * (i / 2);
        const int element_key = 8 * n + i % 2;
        bool hidden = kEnd && element_key >= keys_left;
        if (CAUSAL != 0) hidden = hidden || element_key - element_row > diagonal;
        if (hidden) scores.at[m][n][i] = NEG_INF;
      }
    }
  }
}

template <int kM, int kN>
DEVICE float highest_score(const Scores<kM, kN>& scores, int m, int half) {
  float top = fmaxf(scores.at[m][0][2 * half], scores.at[m][0][2 * half + 1]);
#pragma unroll
  for (int n = 1; n < kN; ++n) {
    top = fmaxf(top, fmaxf(scores.at[m][n][2 * half], scores.at[m][n][2 * half + 1]));
  }
  return warp_max<4>(top);
}

/// Raises the peaks to those of new scores and rescales what was summed under the old ones.
/// kMasked: a row may not have seen a key yet; its peak is -inf, and -inf must not be subtracted
/// from itself. kLazy: nothing happens until a row of the warp rises by kLazyRise.
template <bool kMasked, bool kLazy, int kM, int kN, int kD>
DEVICE void raise_peaks(State<kM, kD>& state, const Scores<kM, kN>& scores) {
  float highest[kM][2];
  bool rises = false;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      highest[m][half] = highest_score(scores, m, half);
      rises = rises || highest[m][half] > state.peak[m][half] + kLazyRise;
    }
  }
  if (kLazy && !__any_sync(0xffffffffu, rises)) return;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float peak = fmaxf(state.peak[m][half], highest[m][half]);
      const float finite = kMasked && peak == NEG_INF ? 0.0f : peak;
      const float shrink = fast_exp2((state.peak[m][half] - finite) * kScale);
      state.peak[m][half] = peak;
      state.sum[m][half] *= shrink;
#pragma unroll
      for (int d = 0; d < kD; ++d) {
        state.out[m][d][2 * half] *= shrink;
        state.out[m][d][2 * half + 1] *= shrink;
      }
    }
  }
}

/// Scores become weights 2^(kScale * (score - peak)) and are summed.
template <bool kMasked, int kM, int kN, int kD>
DEVICE void weigh(State<kM, kD>& state, Scores<kM, kN>& scores) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float peak = state.peak[m][half];
      const float offset = kMasked && peak == NEG_INF ? 0.0f : -peak * kScale;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores.at[m][n][i] = fast_exp2(fmaf(scores.at[m][n][i], kScale, offset));
          state.sum[m][half] += scores.at[m][n][i];
        }
      }
    }
  }
}

/// Four weights of rows m and columns of step (16 keys) as the left operand of the product with V,
/// rounded to DTYPE.
template <int kM, int kN>
DEVICE void pack_weights(u32 (&left)[4], const Scores<kM, kN>& weights, int m, int step) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float(&tile)[4] = weights.at[m][2 * step + i / 2];
    left[i] = pack2(tile[2 * (i % 2)], tile[2 * (i % 2) + 1]);
  }
}

/// A row that saw no key has the sum 0 and becomes zeros.
DEVICE float inverse_or_zero(float sum) { return sum == 0.0f ? 0.0f : __fdividef(1.0f, sum); }
