// descale.cuh - what S is multiplied by in the exponents of P, and what fp8's q, k and v stand for.
//
// P = 2^(scale * (S - row_max) + kPShift). Of 16-bit problems scale is a constant and kPShift 0. Of
// fp8 problems scale has the descale factors of q and k in it, and 2^kPShift brings P, which is at
// most 1, into the range of e4m3 (448 to 2^-6, subnormals to 2^-9). Where blocks of tokens have
// factors, scale is that of a KV block, and row_max is the maximum of scale * S. In the end row_max,
// row_sum and O are brought to what they are without either, so that what follows knows nothing of
// them.
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

/// Who has factors: nobody, heads, or blocks of their tokens.
enum class Factors { kNone, kOfHeads, kOfBlocks };
constexpr Factors kFactors =
    kIs16Bit ? Factors::kNone : kBlockFactors ? Factors::kOfBlocks : Factors::kOfHeads;

/// Of a KV block, where blocks of tokens have factors: what its S is multiplied by, and its PV.
struct BlockScale {
  float scores, out;
};

/// Of an fp8 problem: set for each head.
template <Factors>
struct ScoreScale {
  float score_scale;
  DEVICE void set_scale(float scale) { score_scale = scale; }
  DEVICE static void begin_block(const BlockScale&) {}
  DEVICE float scale() const { return score_scale; }
  DEVICE float exponent_offset(float row_max) const { return fmaf(-row_max, scale(), kPShift); }
  /// How far S is from 0, or from another, in the unit of row_max; that in powers of two.
  DEVICE static float as_row_max(float score) { return score; }
  DEVICE float exponent(float of_row_max) const { return of_row_max * scale(); }
  /// The S above which row_max must rise.
  DEVICE float rescale_limit(float row_max) const {
    return row_max + __fdividef(kHeadroom, scale());
  }
  /// What row_max, row_sum and O are multiplied by in the end; O by v's factor besides.
  DEVICE float row_max_unit() const { return scale() * (1.0f / kScale); }
  DEVICE static float row_sum_unit() { return __int_as_float((127 - P_SHIFT) << 23); }
};

/// Set for each KV block.
template <>
struct ScoreScale<Factors::kOfBlocks> {
  float score_scale;
  DEVICE static void set_scale(float) {}
  DEVICE void begin_block(const BlockScale& block) { score_scale = block.scores; }
  DEVICE float scale() const { return score_scale; }
  DEVICE static float exponent_offset(float row_max) { return kPShift - row_max; }
  DEVICE float as_row_max(float score) const { return score * scale(); }
  DEVICE static float exponent(float of_row_max) { return of_row_max; }
  DEVICE float rescale_limit(float row_max) const {
    return __fdividef(row_max + kHeadroom, scale());
  }
  DEVICE static float row_max_unit() { return 1.0f / kScale; }
  DEVICE static float row_sum_unit() { return __int_as_float((127 - P_SHIFT) << 23); }
};

template <>
struct ScoreScale<Factors::kNone> {
  DEVICE static void set_scale(float) {}
  DEVICE static void begin_block(const BlockScale&) {}
  DEVICE static float scale() { return kScale; }
  DEVICE static float exponent_offset(float row_max) { return -row_max * kScale; }
  DEVICE static float as_row_max(float score) { return score; }
  DEVICE static float exponent(float of_row_max) { return of_row_max * kScale; }
  DEVICE static float rescale_limit(float row_max) { return row_max + kRescaleThreshold; }
  DEVICE static float row_max_unit() { return 1.0f; }
  DEVICE static float row_sum_unit() { return 1.0f; }
};

/// A factor, not before the barriers in front of it, behind which the preceding grid has ended.
DEVICE float load_factor(const float* from) {
  float factor;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(factor) : "l"(from) : "memory");
  return factor;
}

/// Factors of the KV blocks that a warp's rows meet, whose q has one factor.
template <Factors>
struct BlockScales {
  DEVICE static BlockScale at(int) { return {}; }
};
template <>
struct BlockScales<Factors::kOfBlocks> {
  float q;         // times kScale
  const float* k;  // of the head's first block
  const float* v;

  /// `key`: the first of a KV block, or where splits share one, of a split, which may have none.
  DEVICE BlockScale at(int key) const {
    key = min(key, SEQ_KV - 1);
    return {q * load_factor(k + key / kFactorTokens), load_factor(v + key / kFactorTokens)};
  }
};

/// float32 [BATCH, KV_HEADS] each, contiguous: an element of q of a query head is worth q of its
/// key/value head times the element, and so on. Of blocks [BATCH, KV_HEADS, blocks of tokens].
template <Factors>
struct DescalesOf {
  const float* q;
  const float* k;
  const float* v;

  /// Of a query head, counted over the batch.
  DEVICE float scores(int head) const {
    return kScale * (load_factor(q + descale_index(head)) * load_factor(k + descale_index(head)));
  }
  DEVICE float out(int head) const { return load_factor(v + descale_index(head)); }
  DEVICE static BlockScales<kFactors> blocks(int, int) { return {}; }
};
template <>
struct DescalesOf<Factors::kNone> {
  DEVICE static float scores(int) { return kScale; }
  DEVICE static float out(int) { return 1.0f; }
  DEVICE static BlockScales<kFactors> blocks(int, int) { return {}; }
};
template <>
struct DescalesOf<Factors::kOfBlocks> {
  const float* q;
  const float* k;
  const float* v;

  DEVICE static float scores(int) { return 0.0f; }
  DEVICE static float out(int) { return 1.0f; }
  /// Of rows of a query head that share a factor, one of them at `position`.
  DEVICE BlockScales<Factors::kOfBlocks> blocks(int head, int position) const {
    return {kScale * load_factor(q + factor_index<SEQ_Q>(head, min(position, SEQ_Q - 1))),
            k + factor_index<SEQ_KV>(head, 0), v + factor_index<SEQ_KV>(head, 0)};
  }
};
using Descales = DescalesOf<kFactors>;
