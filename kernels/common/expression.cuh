// expression.cuh: Evaluates the problem's expressions, of its mask and of scores.
#pragma once

#include "common/problem.cuh"
#include "common/tensors.cuh"

#if MASK_EXPR || SCORE_EXPR
#include "common/interval.cuh"
#include "common/mma_softmax.cuh"

/// Where a row of Q is; `head` is counted within its batch entry.
struct RowPlace {
  i32 batch, head, row;
};

template <typename T>
DEVICE T either(bool condition, T a, T b) {
  return condition ? a : b;
}

#if MASK_EXPR
#if TENSORS
template <typename Int, typename Tensors>
DEVICE Int mask_expression(Int b, Int h, Int q, Int k, Tensors& tensors) {
#else
/// Returns whether query row q of head h of batch entry b sees key k. For Interval<i32> it returns
/// whether some of these rows see some of these keys, and whether all see all.
template <typename Int>
DEVICE Int mask_expression(Int b, Int h, Int q, Int k) {
#endif
  return MASK_EXPRESSION;
}

/// Hides keys from S. row_of(16 * m + 8 * half) is the place of a row; `key` is that of this lane's
/// first element.
template <int kM, int kN, typename RowOf>
DEVICE void mask_by_expression(Scores<kM, kN>& scores, int key, RowOf row_of TENSORS_PARAMETER) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const RowPlace row = row_of(16 * m + 8 * half);
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (!mask_expression<i32>(row.batch, row.head, row.row,
                                    key + 8 * n + i WITH_TENSORS(tensors)))
            scores.at[m][n][2 * half + i] = NEG_INF;
        }
      }
    }
  }
}
#endif

#if SCORE_EXPR
DEVICE float score_exp2(float x) { return exp2f(x); }
DEVICE float score_exp(float x) { return expf(x); }
DEVICE float score_log2(float x) { return log2f(x); }
DEVICE float score_log(float x) { return logf(x); }
DEVICE float score_sqrt(float x) { return sqrtf(x); }
DEVICE float score_tanh(float x) { return tanhf(x); }

/// What a score becomes that has its scale.
DEVICE float score_expression(float score, i32 b, i32 h, i32 q, i32 k TENSORS_PARAMETER) {
  using Int = i32;
  return SCORE_EXPRESSION;
}

/// Changes S, which has no scale; parameters are those of mask_by_expression.
template <int kM, int kN, typename RowOf>
DEVICE void change_by_expression(Scores<kM, kN>& scores, int key, RowOf row_of TENSORS_PARAMETER) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const RowPlace row = row_of(16 * m + 8 * half);
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& s = scores.at[m][n][2 * half + i];
          s = score_expression(s * SOFTMAX_SCALE, row.batch, row.head, row.row,
                               key + 8 * n + i WITH_TENSORS(tensors)) *
              (1.0f / SOFTMAX_SCALE);
        }
      }
    }
  }
}
#endif
#endif
