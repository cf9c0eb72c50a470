// exp2.cuh - scores to weights, some of the exponentials as polynomials on the arithmetic pipes.
#pragma once

#include "common/mma_softmax.cuh"

/// 2^x to 1.1e-4 of its value. x = n + r with n whole and |r| <= 1/2; a polynomial for 2^r, with n
/// added to its exponent. From -127 down the result is 0 exactly, which hidden keys rely on.
DEVICE float polynomial_exp2(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: the last bits of a sum with it are n
  const float clamped = fmaxf(x, -127.0f);
  const float shifted = clamped + kRound;
  const float rest = clamped - (shifted - kRound);
  float power = fmaf(rest, 0.05500899f, 0.24221096f);
  power = fmaf(power, rest, 0.69328291f);
  power = fmaf(power, rest, 1.0f);
  return __uint_as_float(__float_as_uint(power) + (__float_as_uint(shifted) << 23));
}

/// 2^power for an element of a tile: EXP_FMA of 16 by polynomial.
DEVICE float weight_at(int element, float power) {
  return element * EXP_FMA % 16 < EXP_FMA ? polynomial_exp2(power) : fast_exp2(power);
}

/// A row's weights of a tile, added in pairs, pairs of pairs and so on: no sum waits for a chain of
/// others, nor the exponentials of a warp that has its turn alone for the sums.
template <int kN>
DEVICE float sum_in_pairs(const Scores<1, kN>& weights, int half) {
  float sums[kN];
#pragma unroll
  for (int n = 0; n < kN; ++n) {
    sums[n] = weights.at[0][n][2 * half] + weights.at[0][n][2 * half + 1];
  }
#pragma unroll
  for (int step = 1; step < kN; step *= 2) {
#pragma unroll
    for (int n = 0; n + step < kN; n += 2 * step) sums[n] += sums[n + step];
  }
  return sums[0];
}

/// Scores become weights 2^(kScale * (score - peak)) and are summed, kInPairs or one after another;
/// EXP_FMA of 16 by polynomial.
template <bool kMasked, bool kInPairs, int kN, int kD>
DEVICE void weigh_mixed(State<1, kD>& state, Scores<1, kN>& scores) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float peak = state.peak[0][half];
    const float offset = kMasked && peak == NEG_INF ? 0.0f : -peak * kScale;
#pragma unroll
    for (int n = 0; n < kN; ++n) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        const float power = fmaf(scores.at[0][n][i], kScale, offset);
        const float weight = weight_at(4 * n + i, power);
        scores.at[0][n][i] = weight;
        if (!kInPairs) state.sum[0][half] += weight;
      }
    }
    if (kInPairs) state.sum[0][half] += sum_in_pairs(scores, half);
  }
}
