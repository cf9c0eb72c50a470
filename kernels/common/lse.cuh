// lse.cuh - the peak of a row's scores and the sum of its weights become the natural log of its sum
// of exponentials.
#pragma once

#include "common/prelude.cuh"

/// ln(sum of exp(SOFTMAX_SCALE * score)) of a row whose weights exp(SOFTMAX_SCALE * (score - peak))
/// add up to `sum`; `peak` is a raw score, as the product of Q and K left it. A row that sees no
/// key has the sum 0 and gets -inf, its peak being finite or -inf.
DEVICE float log_sum_exp(float peak, float sum) {
  constexpr float kLn2 = 0.693147180559945309f;
  float power;  // lg2.approx(0) is -inf
  asm("lg2.approx.f32 %0, %1;" : "=f"(power) : "f"(sum));
  return fmaf(peak, SOFTMAX_SCALE, power * kLn2);
}

/// The same of a row whose scores and peak are multiplied by SOFTMAX_SCALE_LOG2E already: its
/// weights are 2^(score - peak).
DEVICE float log_sum_exp2(float peak, float sum) {
  constexpr float kLn2 = 0.693147180559945309f;
  float power;
  asm("lg2.approx.f32 %0, %1;" : "=f"(power) : "f"(sum));
  return (peak + power) * kLn2;
}
