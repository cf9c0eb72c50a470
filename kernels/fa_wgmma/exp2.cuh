// exp2.cuh: Computes the exponentials of P on the special-function unit, some of them emulated on
// FMA units.
#pragma once

#include "common/ldmatrix.cuh"
#include "common/mma_softmax.cuh"
#include "fa_wgmma/traits.cuh"

/// 2^x to 1.1e-4 of its value. x = n + r with n whole and |r| <= 1/2; a polynomial for 2^r, with n
/// added to its exponent. From -127 down the result is 0 exactly, which masked scores rely on.
DEVICE float emulated_exp2(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: the last bits of a sum with it are n
  const float clamped = fmaxf(x, -127.0f);
  const float shifted = clamped + kRound;
  const float rest = clamped - (shifted - kRound);
  float power = fmaf(rest, 0.05500899f, 0.24221096f);
  power = fmaf(power, rest, 0.69328291f);
  power = fmaf(power, rest, 1.0f);
  return __uint_as_float(__float_as_uint(power) + (__float_as_uint(shifted) << 23));
}

/// 2^power for an element of a fragment: EX2_EMULATED of 16 on the FMA units.
DEVICE float exp2_of(int element, float power) {
  return element * EX2_EMULATED % 16 < EX2_EMULATED ? emulated_exp2(power) : fast_exp2(power);
}

// ---- exponentials straight to e4m3 ---- The code of an e4m3 number is 8 times its binary
// logarithm, plus 56, where that is taken to be linear between powers of two: too much, in the mean
// by 0.45. Below 2^-6, where codes are multiples of 2^-9, they fall to 0 sooner than the numbers
// do.

/// Whether scores_to_p leaves codes in places of P: not where KV blocks are redone.
constexpr bool kLinearCodes = kEx2Linear > 0 && kRowSumInO;
/// Two codes as f16, each plus 1024, whose last bits they are.
constexpr u32 kCodesZero = 0x64006400u, kCodesMost = 0x647e647eu;  // of 0, 448
constexpr float kCodeOffset = 56.0f - 0.45f;

/// Whether four elements of P that lie in one register are made so: EX2_LINEAR of 16.
DEVICE constexpr bool is_linear(int half, int pair_of_tiles) {
  return (half * (kNTiles / 2) + pair_of_tiles) * kEx2Linear % 16 < kEx2Linear;
}

/// NaN stays NaN: its last byte is e4m3's, too.
DEVICE u32 max_f16x2(u32 a, u32 b) {
  u32 result;
  asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}

/// Codes of 2^(left / 8 - 7) and 2^(right / 8 - 7), powers with 1024 + kCodeOffset in them.
DEVICE u32 linear_codes(float left, float right) {
  return max_f16x2(pack2_f16(left, right), kCodesZero);
}

/// Codes plus 1024 of codes that are not rounded; below 8, 2^-6, of half the slope, down to 2^-8:
/// for a P of fewer powers of two.
DEVICE u32 codes_with_tail(u32 line) {
  u32 tail, codes;
  asm("fma.rn.relu.f16x2 %0, %1, %2, %3;"
      : "=r"(tail)
      : "r"(line), "r"(pack2_f16(0.5f, 0.5f)), "r"(pack2_f16(4.0f, 4.0f)));
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(codes) : "r"(max_f16x2(line, tail)), "r"(kCodesZero));
  return codes;
}
DEVICE u32 pack_codes(u32 first, u32 second) { return permute_bytes<0x6420>(first, second); }

/// A k-step's P as an A operand.
DEVICE void pack_p_step(u32 (&a)[4], const Scores<1, kNTiles>& p, int step) {
  pack_p(a, p, 0, step);
#pragma unroll
  for (int i = 0; i < 4 && kLinearCodes; ++i) {
    const int half = i % 2, n = kPTiles * step + i / 2 * 2;
    if (!is_linear(half, n / 2)) continue;
    a[i] = pack_codes(__float_as_uint(p.at[0][n][2 * half]),
                      __float_as_uint(p.at[0][n + 1][2 * half]));
  }
}

/// A row's part of P that this lane holds in tiles `first` to `last`, added as a tree: no addition
/// waits for a chain of others, nor do the exponentials of a warp that alone is at the
/// multiprocessor's scheduler.
template <int kN>
DEVICE float tree_sum(const Scores<1, kN>& p, int half, int first, int last) {
  float sums[kN];
#pragma unroll
  for (int n = 0; n < kN; ++n) {
    if (first + n < last) sums[n] = p.at[0][first + n][2 * half] + p.at[0][first + n][2 * half + 1];
  }
#pragma unroll
  for (int step = 1; step < kN; step *= 2) {
#pragma unroll
    for (int n = 0; n + step < kN; n += 2 * step) {
      if (first + n + step < last) sums[n] += sums[n + step];
    }
  }
  return sums[0];
}

/// S becomes P = 2^(scale * (S - row_max) + kPShift), in place and in f32, and is added to row_sum:
/// as a tree (kTree) or one after another. Of kParts shares of the keys, one. Of two elements that
/// are linear codes, the place of the first has both.
template <bool kTree, int kParts = 1, int kN, int kD>
DEVICE void scores_to_p(State<1, kD>& state, Scores<1, kN>& scores, int part = 0) {
  const int first = part * kN / kParts, last = (part + 1) * kN / kParts;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float row_max = state.row_max[0][half];
    const float offset = state.exponent_offset(row_max);
#pragma unroll
    for (int n = 0; n < kN; ++n) {
      if (n < first || n >= last) continue;
      if (kLinearCodes && is_linear(half, n / 2)) {
        const float scale = 8.0f * state.scale();
        const float code_offset = fmaf(8.0f, offset, 1024.0f + kCodeOffset);
        float& left = scores.at[0][n][2 * half];
        const float right = scores.at[0][n][2 * half + 1];
        left = __uint_as_float(linear_codes(fmaf(left, scale, code_offset),
                                            fmaf(right, scale, code_offset)));
        continue;
      }
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        const float power = fmaf(scores.at[0][n][i], state.scale(), offset);
        const float p = exp2_of(4 * n + i, power);
        scores.at[0][n][i] = p;
        if (!kTree && !kRowSumInO) state.row_sum[0][half] += p;
      }
    }
    if (kTree && !kRowSumInO) state.row_sum[0][half] += tree_sum(scores, half, first, last);
  }
}
