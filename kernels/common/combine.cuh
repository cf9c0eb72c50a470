// combine.cuh: Makes the factors that combine the partial O of a row from row_max and row_sum of
// its KV splits.
#pragma once

#include "common/mma_softmax.cuh"

/// A row's splits combined: row_max and row_sum of all, and what the partial O of each is
/// multiplied by before they are added. Without a key row_max is -inf and row_sum 0.
template <int kSplits>
struct RowCombine {
  float row_max = NEG_INF;
  float row_sum = 0.0f;
  float factor[kSplits];

  /// `stat_of(i)` is row_max and row_sum of split i. A split that saw no key has row_max -inf and
  /// counts for nothing.
  template <typename StatOf>
  DEVICE explicit RowCombine(const StatOf& stat_of) {
    float2 stats[kSplits];
#pragma unroll
    for (int i = 0; i < kSplits; ++i) {
      stats[i] = stat_of(i);
      row_max = fmaxf(row_max, stats[i].x);
    }
    const float finite = row_max == NEG_INF ? 0.0f : row_max;
#pragma unroll
    for (int i = 0; i < kSplits; ++i) {
      factor[i] = fast_exp2((stats[i].x - finite) * kScale);
      row_sum += factor[i] * stats[i].y;
    }
  }
};
