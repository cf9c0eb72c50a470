// softcap.cuh: Caps scores: S becomes tanh(unit * S) / unit, where unit is SOFTMAX_SCALE / SOFTCAP.
// So SOFTMAX_SCALE * S becomes SOFTCAP * tanh(SOFTMAX_SCALE * S / SOFTCAP).
#pragma once

#include "common/mma_softmax.cuh"

constexpr bool kSoftcap = SOFTCAPPED != 0;

#if SOFTCAPPED
constexpr float kCapUnit = SOFTMAX_SCALE / SOFTCAP;
/// Up to this magnitude of unit * S, tanh is a polynomial.
constexpr float kCapPolynomialEnd = 0.4f;

/// tanh(unit * S) / unit, within 8e-6 of it, relative: two nodes of an interpolation in (unit *
/// S)^2, chosen for the least error.
DEVICE float capped_by_polynomial(float s) {
  constexpr float kSquare = kCapUnit * kCapUnit;
  const float square = s * s;
  const float ratio = fmaf(square, 0.1221399556f * kSquare * kSquare, -0.3327919495f * kSquare);
  return fmaf(s, square * ratio, s);
}

/// tanh by 2^x and a division; large magnitudes end in 1.
DEVICE float tanh_anywhere(float x) {
  constexpr float kTwoLog2E = 2.0f * 1.44269504088896341f;
  const float e = fast_exp2(-kTwoLog2E * fabsf(x));
  return copysignf(__fdividef(1.0f - e, 1.0f + e), x);
}
#endif

/// Before scores are masked. Where a score of the warp is too large for the polynomial, all are
/// computed without it.
template <int kM, int kN>
DEVICE void cap_scores(Scores<kM, kN>& scores) {
#if SOFTCAPPED
  constexpr float kLargest = kCapPolynomialEnd / kCapUnit;
  constexpr int kCount = kM * kN * 4;
  float* const s = &scores.at[0][0][0];
  float largest = 0.0f;
#pragma unroll
  for (int i = 0; i < kCount; ++i) largest = fmaxf(largest, fabsf(s[i]));
  if (__any_sync(0xffffffffu, !(largest <= kLargest))) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) s[i] = tanh_anywhere(s[i] * kCapUnit) * (1.0f / kCapUnit);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) s[i] = capped_by_polynomial(s[i]);
  }
#else
  (void)scores;
#endif
}
