// exp2.cuh - S to P: exponentials by the special-function unit, some of them emulated on FMA units.
#pragma once

#include "common/mma_softmax.cuh"

/// 2^x to 1.1e-4 of its value. x = n + r with n whole and |r| <= 1/2; a polynomial for 2^r, with n
/// added to its exponent. From -127 down the result is 0 exactly, which masked scores rely on.
DEVICE float emulated_exp2(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: the last bits of a sum with it are n
  const float clamped = fmaxf(x, -127.0f);
  const float shifted = clamped + kRound;
  const float rest = clamped - (shifted - kRound);
  float power = fmaf(rest, 0.05500899f, 0.24221096f);
  power = fmaf(power, rest, 0.69328291f);
  power = fmaf(power, rest, 1.0f);
  return __uint_as_float(__float_as_uint(power) + (__float_as_uint(shifted) << 23));
}

/// 2^power for an element of a fragment: EX2_EMULATED of 16 on the FMA units.
DEVICE float exp2_of(int element, float power) {
  return element * EX2_EMULATED % 16 < EX2_EMULATED ? emulated_exp2(power) : fast_exp2(power);
}

/// A row's part of P that this lane holds in tiles `first` to `last`, added as a tree: no addition
/// waits for a chain of others, nor do the exponentials of a warp that alone is at the
/// multiprocessor's scheduler.
template <int kN>
DEVICE float tree_sum(const Scores<1, kN>& p, int half, int first, int last) {
  float sums[kN];
#pragma unroll
  for (int n = 0; n < kN; ++n) {
    if (first + n < last) sums[n] = p.at[0][first + n][2 * half] + p.at[0][first + n][2 * half + 1];
  }
#pragma unroll
  for (int step = 1; step < kN; step *= 2) {
#pragma unroll
    for (int n = 0; n + step < kN; n += 2 * step) {
      if (first + n + step < last) sums[n] += sums[n + step];
    }
  }
  return sums[0];
}

/// S becomes P = 2^(scale * (S - row_max) + kPShift), in place and in f32, and is added to row_sum:
/// as a tree (kTree) or one after another. Of kParts shares of the keys, one.
template <bool kMasked, bool kTree, int kParts = 1, int kN, int kD>
DEVICE void scores_to_p(State<1, kD>& state, Scores<1, kN>& scores, int part = 0) {
  const int first = part * kN / kParts, last = (part + 1) * kN / kParts;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float row_max = state.row_max[0][half];
    const float offset = kMasked && row_max == NEG_INF ? 0.0f : state.exponent_offset(row_max);
#pragma unroll
    for (int n = 0; n < kN; ++n) {
      if (n < first || n >= last) continue;
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        const float power = fmaf(scores.at[0][n][i], state.scale(), offset);
        const float p = exp2_of(4 * n + i, power);
        scores.at[0][n][i] = p;
        if (!kTree) state.row_sum[0][half] += p;
      }
    }
    if (kTree) state.row_sum[0][half] += tree_sum(scores, half, first, last);
  }
}
