// key_mean.cuh: Computes the score of K's mean, which scores lack where K was smoothed (SMOOTH_K).
#pragma once

#include "common/given_elem.cuh"
#include "common/problem.cuh"

struct KeyMean {
  const u16* q;       // as the problem gives it, of OUT_DTYPE
  const float* mean;  // (BATCH, KV_HEADS, HEAD_DIM)

  /// SOFTMAX_SCALE * (q . mean) of a row of a query head, counted over the batch: softmax does not
  /// see it, the log-sum-exp does.
  DEVICE float score(i64 head, int row) const {
    const uint4* const pieces = reinterpret_cast<const uint4*>(q + QTensor::row(head, row));
    const float* const of_head = mean + descale_index(head) * HEAD_DIM;
    float sum = 0.0f;
#pragma unroll 4
    for (int piece = 0; piece < HEAD_DIM / 8; ++piece) {
      const uint4 pairs = pieces[piece];
      const u32 all[4] = {pairs.x, pairs.y, pairs.z, pairs.w};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float element = given_to_float(all[i / 2] >> (16 * (i % 2)));
        sum = fmaf(element, of_head[piece * 8 + i], sum);
      }
    }
    return sum * SOFTMAX_SCALE;
  }
};
