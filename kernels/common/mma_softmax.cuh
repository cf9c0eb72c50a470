// mma_softmax.cuh - online softmax on the accumulators of mma tiles: masks scores, keeps peaks,
// makes weights.
//
// A warp holds kM row tiles of 16; a lane's elements lie in rows lane / 4 and lane / 4 + 8 of each
// (`half` 0 and 1), and in columns 2 * (lane % 4) and the next of each 8-column tile. Four
// neighbouring lanes share a row.
#pragma once

#include "common/key_order.cuh"
#include "common/prelude.cuh"
#include "common/problem.cuh"

/// A weight is 2^(kScale * score). A kernel whose scores come multiplied by SOFTMAX_SCALE defines
/// SCALED_SCORES before it includes this.
#ifdef SCALED_SCORES
constexpr float kScale = 1.44269504088896341f;
#else
constexpr float kScale = SOFTMAX_SCALE_LOG2E;
#endif
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
/// element; kEnd: the tile may reach past the last key. kPack rows in turn are of one position
/// (packed_rows.cuh); Order: where the tile's keys stand (key_order.cuh). Two registers say it all:
/// what differs between a lane's elements is known to the compiler.
template <bool kEnd, int kPack = 1, typename Order = InOrder, int kM, int kN>
DEVICE void mask_scores(Scores<kM, kN>& scores, int row, int key) {
  const int keys_left = SEQ_KV - key;
  const int diagonal = row / kPack + (SEQ_KV - SEQ_Q) - key;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int rows = 16 * m + 8 * half;
      const int positions = 8 % kPack == 0 ? rows / kPack : (row + rows) / kPack - row / kPack;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int element_key = Order::key(8 * n + i);
          bool hidden = kEnd && element_key >= keys_left;
          if (CAUSAL != 0) hidden = hidden || element_key - positions > diagonal;
          if (hidden) scores.at[m][n][2 * half + i] = NEG_INF;
        }
      }
    }
  }
}

/// The highest of this lane's scores of a row.
template <int kM, int kN>
DEVICE float own_highest_score(const Scores<kM, kN>& scores, int m, int half) {
  float top = fmaxf(scores.at[m][0][2 * half], scores.at[m][0][2 * half + 1]);
#pragma unroll
  for (int n = 1; n < kN; ++n) {
    top = fmaxf(top, fmaxf(scores.at[m][n][2 * half], scores.at[m][n][2 * half + 1]));
  }
  return top;
}

/// The highest of a row's scores.
template <int kM, int kN>
DEVICE float highest_score(const Scores<kM, kN>& scores, int m, int half) {
  return warp_max<4>(own_highest_score(scores, m, half));
}

/// Raises the peaks to those of new scores and rescales what was summed under the old ones.
/// kMasked: a row may not have seen a key yet; its peak is -inf, and -inf must not be subtracted
/// from itself. kLazy: nothing happens until a row of the warp rises by kLazyRise; each lane looks
/// at its own scores only, and lanes talk to each other when one of them rises.
template <bool kMasked, bool kLazy, int kM, int kN, int kD>
DEVICE void raise_peaks(State<kM, kD>& state, const Scores<kM, kN>& scores) {
  float highest[kM][2];
  bool rises = false;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      highest[m][half] = own_highest_score(scores, m, half);
      rises = rises || highest[m][half] > state.peak[m][half] + kLazyRise;
    }
  }
  if (kLazy && !__any_sync(0xffffffffu, rises)) return;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float peak = fmaxf(state.peak[m][half], warp_max<4>(highest[m][half]));
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

/// Whether a row of the warp has seen no key yet.
template <int kM, int kD>
DEVICE bool lacks_peak(const State<kM, kD>& state) {
  bool lacks = false;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) lacks = lacks || state.peak[m][half] == NEG_INF;
  }
  return __any_sync(0xffffffffu, lacks);
}

/// Whether a value of the warp is above `most`, or is no number.
template <int kM>
DEVICE bool exceeds(const float (&values)[kM][2], float most) {
  bool exceeds = false;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) exceeds = exceeds || !(values[m][half] <= most);
  }
  return __any_sync(0xffffffffu, exceeds);
}

/// A tile's weights, rounded to DTYPE: left operands of the product with V, 16 keys a step.
template <int kM, int kN>
struct Weights {
  u32 at[kM][kN / 2][4];
};

/// weights = 2^(kScale * (score - peak)), rounded. Unrounded, this lane's weights of each row are
/// added to `sums`, or with kFresh become them.
template <bool kMasked, bool kFresh, int kM, int kN, int kD>
DEVICE void weigh_and_pack(Weights<kM, kN>& weights, float (&sums)[kM][2],
                           const State<kM, kD>& state, const Scores<kM, kN>& scores) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float peak = state.peak[m][half];
      const float offset = kMasked && peak == NEG_INF ? 0.0f : -peak * kScale;
      float sum = kFresh ? 0.0f : sums[m][half];
#pragma unroll
      for (int n = 0; n < kN; ++n) {
        const float left = fast_exp2(fmaf(scores.at[m][n][2 * half], kScale, offset));
        const float right = fast_exp2(fmaf(scores.at[m][n][2 * half + 1], kScale, offset));
        sum = kFresh && n == 0 ? left : sum + left;
        sum += right;
        weights.at[m][n / 2][n % 2 * 2 + half] = pack2(left, right);
      }
      sums[m][half] = sum;
    }
  }
}

/// When the output is rescaled to higher peaks.
enum class Rescale {
  kAlways,  // at every tile
  kLazy,    // when a row rises by kLazyRise
  kLate,    // when weights have come out too large: peaks are not even looked for before
};
/// kLate: more than this in a lane's share of a row's weights, and they are computed once more.
/// Chosen: a weight cannot be larger then, far inside the range of f16, and after the peak has been
/// raised the share is at most its number of keys.
constexpr float kMostWeight = 4096.0f;

/// Scores become weights and are summed; `fresh`: no row of the warp has a peak yet.
template <Rescale kRescale, bool kMasked, int kM, int kN, int kD>
DEVICE void soften(Weights<kM, kN>& weights, State<kM, kD>& state, const Scores<kM, kN>& scores,
                   bool fresh) {
  static_assert(2 * kN <= kMostWeight, "raised once, a share is small enough");
  if constexpr (kRescale != Rescale::kLate) {
    raise_peaks<kMasked, kRescale == Rescale::kLazy>(state, scores);
    weigh_and_pack<kMasked, false>(weights, state.sum, state, scores);
  } else {
    float sums[kM][2];
    bool raise = kMasked ? lacks_peak(state) : fresh;
#pragma unroll 1
    for (;;) {
      if (raise) raise_peaks<kMasked, false>(state, scores);
      weigh_and_pack<kMasked, true>(weights, sums, state, scores);
      if (raise || !exceeds(sums, kMostWeight)) break;
      raise = true;
    }
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) state.sum[m][half] += sums[m][half];
    }
  }
}

/// A row that saw no key has the sum 0 and becomes zeros.
DEVICE float inverse_or_zero(float sum) { return sum == 0.0f ? 0.0f : __fdividef(1.0f, sum); }
