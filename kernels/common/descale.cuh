// descale.cuh - what S is multiplied by in the exponents of P, and what fp8's q, k and v stand for.
//
// P = 2^(scale * (S - row_max) + kPShift). Of 16-bit problems scale is a constant and kPShift 0. Of
// fp8 problems scale has the descale factors of q and k in it, and 2^kPShift brings P, which is at
// most 1, into the range of e4m3 (448 to 2^-6, subnormals to 2^-9). In the end row_max, row_sum and
// O are brought to what they are without either, so that what follows knows nothing of them.
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
/// Lazy rescaling lets P grow to 2^8, far inside the range of f16; or to 2^8.75, just inside that of
/// e4m3.
constexpr float kHeadroom = (kIs16Bit ? 8.0f : 8.75f) - kPShift;
constexpr float kRescaleThreshold = kHeadroom / kScale;

/// Of an fp8 problem: set for each head.
template <bool kConstant>
struct ScoreScale {
  float score_scale;
  DEVICE void set_scale(float scale) { score_scale = scale; }
  DEVICE float scale() const { return score_scale; }
  DEVICE float exponent_offset(float row_max) const { return fmaf(-row_max, scale(), kPShift); }
  /// By how much S may exceed row_max.
  DEVICE float rescale_threshold() const { return __fdividef(kHeadroom, scale()); }
  /// What row_max, row_sum and O are multiplied by in the end; O by v's factor besides.
  DEVICE float row_max_unit() const { return scale() * (1.0f / kScale); }
  DEVICE static float row_sum_unit() { return __int_as_float((127 - P_SHIFT) << 23); }
};

template <>
struct ScoreScale<true> {
  DEVICE static void set_scale(float) {}
  DEVICE static float scale() { return kScale; }
  DEVICE static float exponent_offset(float row_max) { return -row_max * kScale; }
  DEVICE static float rescale_threshold() { return kRescaleThreshold; }
  DEVICE static float row_max_unit() { return 1.0f; }
  DEVICE static float row_sum_unit() { return 1.0f; }
};

/// float32 [BATCH, KV_HEADS] each, contiguous: an element of q of a query head is worth q of its
/// key/value head times the element, and so on.
template <bool k16Bit>
struct DescalesOf {
  const float* q;
  const float* k;
  const float* v;

  /// Of a query head, counted over the batch.
  DEVICE float scores(int head) const { return kScale * (load(q, head) * load(k, head)); }
  DEVICE float out(int head) const { return load(v, head); }

 private:
  /// Not before the barriers in front of it, behind which the preceding grid has ended.
  DEVICE static float load(const float* factors, int head) {
    float factor;
    asm volatile("ld.global.f32 %0, [%1];"
                 : "=f"(factor)
                 : "l"(factors + descale_index(head))
                 : "memory");
    return factor;
  }
};
template <>
struct DescalesOf<true> {
  DEVICE static float scores(int) { return kScale; }
  DEVICE static float out(int) { return 1.0f; }
};
using Descales = DescalesOf<kIs16Bit>;
