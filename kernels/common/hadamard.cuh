// hadamard.cuh - rows of q and k times an orthogonal matrix, which leaves their products as they
// are: HADAMARD neighbouring columns times a Hadamard matrix over sqrt(HADAMARD), behind signs.
// What sticks out of a row is spread over its columns, so that a factor of the head costs the others
// fewer bits. The signs keep rows of equal elements from becoming a single one.
#pragma once

#include "common/prelude.cuh"

static_assert(HADAMARD == 0 || HEAD_DIM % HADAMARD == 0, "columns are mixed in whole groups");

/// A bit a column: the first 256 of pi's fraction.
__constant__ constexpr u64 kColumnSigns[4] = {0x243f6a8885a308d3, 0x13198a2e03707344,
                                              0xa4093822299f31d0, 0x082efa98ec4e6c89};

/// By all lanes of a warp, which have whole rows: lane i % (HEAD_DIM / 8) has columns 8i .. 8i + 7.
DEVICE void rotate_columns(float (&x)[8]) {
  constexpr float kNorm = HADAMARD == 64 ? 0.125f : 0.08838834764831845f;  // 1 / sqrt(HADAMARD)
  const int place = static_cast<int>(threadIdx.x) % (HEAD_DIM / 8);
  const u32 signs = static_cast<u32>(kColumnSigns[place / 8] >> (place % 8 * 8));
#pragma unroll
  for (int i = 0; i < 8; ++i) x[i] *= signs >> i & 1 ? -kNorm : kNorm;
#pragma unroll
  for (int step = 1; step < 8; step *= 2) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i & step) continue;
      const float low = x[i], high = x[i + step];
      x[i] = low + high;
      x[i + step] = low - high;
    }
  }
#pragma unroll
  for (int step = 1; step < HADAMARD / 8; step *= 2) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float other = __shfl_xor_sync(0xffffffffu, x[i], step);
      x[i] = (place & step ? -x[i] : x[i]) + other;
    }
  }
}
