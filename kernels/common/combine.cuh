// row_join.cuh - peaks and sums of parts that saw different keys of a row become the factors with
// which their outputs add up.
#pragma once

#include "common/mma_softmax.cuh"

/// How a row's parts add up: the joint peak and sum of weights, and what each part's output is
/// multiplied by before they are added. Without a key the peak is -inf and the sum 0.
template <int kParts>
struct RowJoin {
  float peak = NEG_INF;
  float sum = 0.0f;
  float factor[kParts];

  /// `stat_of(i)` is part i's peak and sum. A part that saw no key has the peak -inf and counts for
  /// nothing.
  template <typename StatOf>
  DEVICE explicit RowJoin(const StatOf& stat_of) {
    float2 stats[kParts];
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      stats[i] = stat_of(i);
      peak = fmaxf(peak, stats[i].x);
    }
    const float finite = peak == NEG_INF ? 0.0f : peak;
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      factor[i] = fast_exp2((stats[i].x - finite) * kScale);
      sum += factor[i] * stats[i].y;
    }
  }
};
