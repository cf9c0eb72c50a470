// bias.cuh: Reads the problem's bias, which is added to scores, or says which keys are hidden.
#pragma once

#include "common/problem.cuh"

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

/// A lower number hides its key, as -inf does. In mma kernels such a score is below kLeastRowMax.
constexpr float kHidingBias = -1e29f;

// BIAS_PARAMETER ends a parameter list where there is a bias, and is nothing else.
#if BIAS
#define BIAS_PARAMETER , const bias_elem *__restrict__ bias

/// Returns the number by which a score that has its scale rises.
DEVICE float bias_value(bias_elem element) {
#if BIAS == BIAS_BOOL
  return element == 0 ? NEG_INF : 0.0f;
#elif BIAS == BIAS_F32
  return element;
#else
  return to_float(element);
#endif
}

/// A row of the bias, or its last one; `head` is counted over the batch.
DEVICE const bias_elem* bias_row(const bias_elem* bias, int head, int row) {
  const i64 of_head = i64{head / HEADS} * BIAS_BATCH_STRIDE + i64{head % HEADS} * BIAS_HEAD_STRIDE;
  return bias + of_head + i64{min_of(row, SEQ_Q - 1)} * BIAS_ROW_STRIDE;
}
#else
#define BIAS_PARAMETER
#endif
