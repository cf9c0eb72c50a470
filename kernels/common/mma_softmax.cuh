// mma_softmax.cuh: Runs the online softmax on mma accumulators: masks S, keeps row_max and row_sum,
// makes P.
//
// A warp holds kM row tiles of 16; a lane's elements lie in rows lane / 4 and lane / 4 + 8 of each
// (`half` 0 and 1), and in columns 2 * (lane % 4) and the next of each 8-column tile. Four
// neighbouring lanes share a row.
#pragma once

#include "common/descale.cuh"
#include "common/key_order.cuh"
#include "common/prelude.cuh"
#include "common/problem.cuh"


/// 8-key tiles of S that one A operand of PV takes.
constexpr int kPTiles = kIs16Bit ? 2 : 4;

template <int kM, int kN>
struct Scores {
  float at[kM][kN][4];
};

/// row_max of a row that has seen no key, where a KV block may hide all of its keys from a row. It is
/// below any score, but finite: P of a hidden key, whose S is -inf, is 0.
constexpr float kLeastRowMax = -0x1p100f;

/// A warp's accumulator of O and its online softmax; row_max is what the exponents of P refer to.
template <int kM, int kD>
struct State : ScoreScale<!kIs16Bit> {
  float acc_o[kM][kD][4];
  float row_max[kM][2];
  float row_sum[kM][2];  // this lane's share

  /// `may_be_unseen`: a KV block may hide all of its keys from a row that has seen none yet.
  DEVICE explicit State(bool may_be_unseen = false) {
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      row_max[m][0] = row_max[m][1] = may_be_unseen ? kLeastRowMax : NEG_INF;
      row_sum[m][0] = row_sum[m][1] = 0.0f;
#pragma unroll
      for (int d = 0; d < kD; ++d) {
#pragma unroll
        for (int i = 0; i < 4; ++i) acc_o[m][d][i] = 0.0f;
      }
    }
  }
};

/// Masks S: what a row may not see becomes -inf. Row and key are those of this lane's first
/// element; kEnd: the KV block may reach past the last key. kPack rows in turn are of one position
/// (packed_rows.cuh); Order: where the block's keys stand (key_order.cuh). Two registers suffice:
/// what differs between a lane's elements is known to the compiler.
template <bool kEnd, int kPack = 1, typename Order = InOrder, int kM, int kN>
DEVICE void mask_scores(Scores<kM, kN>& scores, int row, int key) {
  const int keys_left = SEQ_KV - key;
  const int last = row / kPack + (DIAGONAL + KEYS_AFTER) - key;
  const int first = row / kPack + (DIAGONAL - KEYS_BEFORE) - key;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int rows = 16 * m + 8 * half;
      const int positions = 8 % kPack == 0 ? rows / kPack : (row + rows) / kPack - row / kPack;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int element_key = Order::key(8 * n + i);
          bool masked = kEnd && element_key >= keys_left;
          if (kBoundedAfter && PREFIX_KEYS == 0) masked = masked || element_key - positions > last;
          if (kBoundedAfter && PREFIX_KEYS > 0)
            masked = masked || (element_key - positions > last && element_key >= PREFIX_KEYS - key);
          if (kBoundedBefore) masked = masked || element_key - positions < first;
          if (masked) scores.at[m][n][2 * half + i] = NEG_INF;
        }
      }
    }
  }
}

/// The maximum of this lane's S of a row.
template <int kM, int kN>
DEVICE float thread_row_max(const Scores<kM, kN>& scores, int m, int half) {
  float top = fmaxf(scores.at[m][0][2 * half], scores.at[m][0][2 * half + 1]);
#pragma unroll
  for (int n = 1; n < kN; ++n) {
    top = fmaxf(top, fmaxf(scores.at[m][n][2 * half], scores.at[m][n][2 * half + 1]));
  }
  return top;
}

/// The maximum of a row's S.
template <int kM, int kN>
DEVICE float row_max_of(const Scores<kM, kN>& scores, int m, int half) {
  return warp_max<4>(thread_row_max(scores, m, half));
}

/// Updates row_max by new S and rescales O and row_sum. kLazy: nothing happens until a row of the
/// warp rises by kRescaleThreshold; each lane looks at its own S only, and lanes exchange maxima
/// when one of them rises.
template <bool kLazy, int kM, int kN, int kD>
DEVICE void update_row_max(State<kM, kD>& state, const Scores<kM, kN>& scores) {
  float highest[kM][2];
  bool rises = false;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      highest[m][half] = thread_row_max(scores, m, half);
      rises = rises || highest[m][half] > state.rescale_limit(state.row_max[m][half]);
    }
  }
  if (kLazy && !__any_sync(0xffffffffu, rises)) return;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float row_max =
          fmaxf(state.row_max[m][half], warp_max<4>(highest[m][half]));
      const float rescale = fast_exp2(state.exponent(state.row_max[m][half] - row_max));
      state.row_max[m][half] = row_max;
      state.row_sum[m][half] *= rescale;
#pragma unroll
      for (int d = 0; d < kD; ++d) {
        state.acc_o[m][d][2 * half] *= rescale;
        state.acc_o[m][d][2 * half + 1] *= rescale;
      }
    }
  }
}

/// Neighbouring elements of P, rounded, in a register of an A operand.
DEVICE u32 pack_elements(const float (&p)[kPTiles]) {
#if DTYPE == DTYPE_F16 || DTYPE == DTYPE_BF16
  return pack2(p[0], p[1]);
#else
  return pack4_e4m3(p[0], p[1], p[2], p[3]);
#endif
}

/// P of row tile m and the keys of a k-step as the A operand of PV, rounded: 16 keys to DTYPE; of
/// fp8 32, to e4m3: at the operand's columns 4t .. 4t + 3 stand keys 2t, 2t + 1, 2t + 8, 2t + 9,
/// and so in its other half, so that each element stays with its lane.
template <int kM, int kN>
DEVICE void pack_p(u32 (&a)[4], const Scores<kM, kN>& p, int m, int step) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float elements[kPTiles];
#pragma unroll
    for (int j = 0; j < kPTiles; ++j) {
      const int n = kPTiles * step + i / 2 * (kPTiles / 2) + j / 2;
      elements[j] = p.at[m][n][2 * (i % 2) + j % 2];
    }
    a[i] = pack_elements(elements);
  }
}

/// After the last KV block of an fp8 problem: row_max, row_sum and O as those of a 16-bit one,
/// whose q, k and v are what these stand for.
template <int kM, int kD>
DEVICE void descale(State<kM, kD>& state, float v_descale) {
  if (kIs16Bit) return;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      state.row_max[m][half] *= state.row_max_unit();
      state.row_sum[m][half] *= state.row_sum_unit();
#pragma unroll
      for (int d = 0; d < kD; ++d) {
        state.acc_o[m][d][2 * half] *= state.row_sum_unit() * v_descale;
        state.acc_o[m][d][2 * half + 1] *= state.row_sum_unit() * v_descale;
      }
    }
  }
}

/// Whether a value of the warp is above `most`, or is no number.
template <int kM>
DEVICE bool any_exceeds(const float (&values)[kM][2], float most) {
  bool exceeds = false;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) exceeds = exceeds || !(values[m][half] <= most);
  }
  return __any_sync(0xffffffffu, exceeds);
}

/// P of a KV block, rounded: A operands of PV.
template <int kM, int kN>
struct PFragment {
  static_assert(kN % kPTiles == 0, "whole k-steps");
  u32 at[kM][kN / kPTiles][4];
};

/// P = 2^(scale * (S - row_max) + kPShift), rounded. Unrounded, this lane's part of each row of P
/// is added to `sums`, or with kFresh becomes them.
template <bool kFresh, int kM, int kN, int kD>
DEVICE void exp2_and_pack(PFragment<kM, kN>& p, float (&sums)[kM][2], const State<kM, kD>& state,
                          const Scores<kM, kN>& scores) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float row_max = state.row_max[m][half];
      const float offset = state.exponent_offset(row_max);
      float sum = kFresh ? 0.0f : sums[m][half];
      float elements[kPTiles];
#pragma unroll
      for (int n = 0; n < kN; ++n) {
        const float left = fast_exp2(fmaf(scores.at[m][n][2 * half], state.scale(), offset));
        const float right = fast_exp2(fmaf(scores.at[m][n][2 * half + 1], state.scale(), offset));
        sum = kFresh && n == 0 ? left : sum + left;
        sum += right;
        constexpr int kTogether = kPTiles / 2;  // tiles of a register
        elements[2 * (n % kTogether)] = left;
        elements[2 * (n % kTogether) + 1] = right;
        if (n % kTogether + 1 == kTogether) {
          p.at[m][n / kPTiles][n / kTogether % 2 * 2 + half] = pack_elements(elements);
        }
      }
      sums[m][half] = sum;
    }
  }
}

/// When O is rescaled to a higher row_max.
enum class Rescale {
  kAlways,  // at every KV block
  kLazy,    // when a row rises by kRescaleThreshold
  kLate,    // when P has come out too large: the maxima of S are not even computed before
};
/// kLate: above this in a lane's share of a row of P, and P is computed once more. Chosen: an
/// element of P cannot be larger then, far inside the range of f16, and after row_max has been
/// updated the share is at most its number of keys.
constexpr float kLateThreshold = 4096.0f;

/// kLate: P by the row_max that there is and, where its sums say that it has come out too large,
/// once more behind `raise`, which makes row_max the block's own. `fresh`: no row of the warp has a
/// row_max yet. True when it was raised.
template <int kM, int kN, int kD, typename Raise>
DEVICE bool late_softmax(PFragment<kM, kN>& p, State<kM, kD>& state, const Scores<kM, kN>& scores,
                         bool fresh, Raise raise) {
  static_assert(2 * kN <= kLateThreshold, "raised once, a share is small enough");
  float sums[kM][2];
  bool update = fresh;
#pragma unroll 1
  for (;;) {
    if (update) raise();
    exp2_and_pack<true>(p, sums, state, scores);
    if (update || !any_exceeds(sums, kLateThreshold)) break;
    update = true;
  }
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) state.row_sum[m][half] += sums[m][half];
  }
  return update;
}

/// S becomes P and is added to row_sum; `fresh`: no row of the warp has a row_max yet.
template <Rescale kRescale, int kM, int kN, int kD>
DEVICE void online_softmax(PFragment<kM, kN>& p, State<kM, kD>& state,
                           const Scores<kM, kN>& scores, bool fresh) {
  if constexpr (kRescale != Rescale::kLate) {
    update_row_max<kRescale == Rescale::kLazy>(state, scores);
    exp2_and_pack<false>(p, state.row_sum, state, scores);
  } else {
    late_softmax(p, state, scores, fresh, [&] { update_row_max<false>(state, scores); });
  }
}

/// A row that saw no key has row_sum 0 and becomes zeros.
DEVICE float inverse_or_zero(float sum) { return sum == 0.0f ? 0.0f : __fdividef(1.0f, sum); }
