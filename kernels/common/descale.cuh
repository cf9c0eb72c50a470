// descale.cuh: Has the scale of S in the exponents of P, and the factors of fp8's q, k and v.
//
// P = 2^(scale * (S - row_max) + kPShift). Of 16-bit problems scale is a constant and kPShift 0. Of
// fp8 problems scale has the descale factors of q and k in it, and 2^kPShift brings P, which is at
// most 1, into the range of e4m3 (448 to 2^-6, subnormals to 2^-9). The end brings row_max, row_sum
// and O to what they are without either, so that later code knows nothing of them.
#pragma once

#include "common/out_elem.cuh"
#include "common/problem.cuh"

/// A kernel whose S comes multiplied by SOFTMAX_SCALE defines SCALED_SCORES before it includes
/// this.
#ifdef SCALED_SCORES
constexpr float kScale = 1.44269504088896341f;
#else
constexpr float kScale = SOFTMAX_SCALE_LOG2E;
#endif

#if DTYPE == DTYPE_F16 || DTYPE == DTYPE_BF16
#define P_SHIFT 0
#endif
constexpr float kPShift = P_SHIFT;
/// Lazy rescaling lets P grow to 2^8, far inside the range of f16; or to 2^8.75, just inside that
/// of e4m3.
constexpr float kHeadroom = (kIs16Bit ? 8.0f : 8.75f) - kPShift;
constexpr float kRescaleThreshold = kHeadroom / kScale;

/// The scale of the scores of a head, of an fp8 problem or of 16 bits.
template <bool kHasFactors>
struct ScoreScale {
  float score_scale;
  DEVICE void set_scale(float scale) { score_scale = scale; }
  DEVICE float scale() const { return score_scale; }
  DEVICE float exponent_offset(float row_max) const { return fmaf(-row_max, scale(), kPShift); }
  /// A difference of scores in powers of two.
  DEVICE float exponent(float of_row_max) const { return of_row_max * scale(); }
  /// row_max must rise where S is above this limit.
  DEVICE float rescale_limit(float row_max) const {
    return row_max + __fdividef(kHeadroom, scale());
  }
  /// The end multiplies row_max by the first; row_sum and O by the second, O by v's factor besides.
  DEVICE float row_max_unit() const { return scale() * (1.0f / kScale); }
  DEVICE static float row_sum_unit() { return __int_as_float((127 - P_SHIFT) << 23); }
};

template <>
struct ScoreScale<false> {
  DEVICE static void set_scale(float) {}
  DEVICE static float scale() { return kScale; }
  DEVICE static float exponent_offset(float row_max) { return -row_max * kScale; }
  DEVICE static float exponent(float of_row_max) { return of_row_max * kScale; }
  DEVICE static float rescale_limit(float row_max) { return row_max + kRescaleThreshold; }
  DEVICE static float row_max_unit() { return 1.0f; }
  DEVICE static float row_sum_unit() { return 1.0f; }
};

/// Loads a factor. The compiler keeps it behind the barriers in front of it, where the preceding
/// grid has ended.
DEVICE float load_factor(const float* from) {
  float factor;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(factor) : "l"(from) : "memory");
  return factor;
}

/// The factors of an fp8 problem, float32 [BATCH, KV_HEADS] each, contiguous. An element of a query
/// head's q is worth the element times q's factor of its key/value head; k and v likewise.
template <bool kHasFactors>
struct DescalesOf {
  const float* q;
  const float* k;
  const float* v;

  /// `head`: a query head, counted over the batch.
  DEVICE float scores(int head) const {
    return kScale * (load_factor(q + descale_index(head)) * load_factor(k + descale_index(head)));
  }
  DEVICE float out(int head) const { return load_factor(v + descale_index(head)); }
};
template <>
struct DescalesOf<false> {
  DEVICE static float scores(int) { return kScale; }
  DEVICE static float out(int) { return 1.0f; }
};
using Descales = DescalesOf<!kIs16Bit>;
