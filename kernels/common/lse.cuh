// lse.cuh: Makes the log-sum-exp of a row from its row_max and row_sum.
#pragma once

#include "common/prelude.cuh"

/// ln(sum of exp(SOFTMAX_SCALE * S)) of a row whose P = exp(SOFTMAX_SCALE * (S - row_max)) adds up
/// to row_sum; row_max is unscaled, as QK^T left it. A row that sees no key has row_sum 0 and gets
/// -inf, its row_max being finite or -inf.
DEVICE float log_sum_exp(float row_max, float row_sum) {
  constexpr float kLn2 = 0.693147180559945309f;
  float power;  // lg2.approx(0) is -inf
  asm("lg2.approx.f32 %0, %1;" : "=f"(power) : "f"(row_sum));
  return fmaf(row_max, SOFTMAX_SCALE, power * kLn2);
}

/// The same of a row whose S and row_max are multiplied by SOFTMAX_SCALE_LOG2E already: its P is
/// 2^(S - row_max).
DEVICE float log_sum_exp2(float row_max, float row_sum) {
  constexpr float kLn2 = 0.693147180559945309f;
  float power;
  asm("lg2.approx.f32 %0, %1;" : "=f"(power) : "f"(row_sum));
  return (row_max + power) * kLn2;
}
