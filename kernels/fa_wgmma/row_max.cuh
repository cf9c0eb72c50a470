// row_max.cuh: Raises row_max, to which the exponents of P refer, and finds out whether S of a KV
// block leaves it as it is.
#pragma once

#include "common/mma_softmax.cuh"
#include "fa_wgmma/traits.cuh"

using ScoreFragment = Scores<1, kNTiles>;
using SoftmaxState = State<1, kAccTiles>;

/// Whether no row of the warp has a score above its row_max by the threshold. The bits of
/// positive floats are ordered like the floats, those of negative ones lie below: while the limit
/// is positive, integer maxima decide it, three operands an instruction.
DEVICE bool stays_below_threshold(const SoftmaxState& state, const ScoreFragment& scores) {
  // Two chains a row: a lone warp would wait for the result of one before each step of it.
  int top[2][2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int n = 0; n < kNTiles; ++n) {
      const int left = __float_as_int(scores.at[0][n][2 * half]);
      const int right = __float_as_int(scores.at[0][n][2 * half + 1]);
      int& chain = top[half][n % 2];
      chain = n < 2 ? max(left, right) : max(max(chain, left), right);
    }
  }
  const float limit[2] = {state.rescale_limit(state.row_max[0][0]),
                          state.rescale_limit(state.row_max[0][1])};
  const bool rises = fminf(limit[0], limit[1]) < 0.0f |
                     max(top[0][0], top[0][1]) > __float_as_int(limit[0]) |
                     max(top[1][0], top[1][1]) > __float_as_int(limit[1]);
  return !__any_sync(0xffffffffu, rises);
}

/// row_max becomes that of S, too, and row_sum follows; O is to be multiplied by `rescale`.
DEVICE void raise_row_max(SoftmaxState& state, const ScoreFragment& scores, float (&rescale)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float row_max = fmaxf(state.row_max[0][half], row_max_of(scores, 0, half));
    rescale[half] = fast_exp2(state.exponent(state.row_max[0][half] - row_max));
    state.row_max[0][half] = row_max;
    state.row_sum[0][half] *= rescale[half];
  }
}
