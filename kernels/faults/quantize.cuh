// quantize.cuh: Quantizes q, k and v wrongly, and attends to the result.
#pragma once

#if FAULT >= FAULT_FP8_FUSED_DIVIDES_BY_ZERO
#if OUT_DTYPE == DTYPE_F16
DEVICE float given_to_float(u16 bits) { return f16_to_float(bits); }
#else
DEVICE float given_to_float(u16 bits) { return bf16_to_float(bits); }
#endif

constexpr int kParts = BATCH * KV_HEADS;

/// The larger of two magnitudes; NaN where one is.
DEVICE float larger(float a, float b) { return a >= b ? a : (b > a ? b : a + b); }

// The larger of two magnitudes. At fault, a head that is not finite is quantized as if it were, and
// infinity becomes the largest number.
#if FAULT == FAULT_FP8_FUSED_DROPS_INFINITY
#define LARGER(a, b) fmaxf(a, isinf(b) ? 0.0f : (b))
#else
#define LARGER(a, b) larger(a, b)
#endif
// The factor of a head. At fault, that of a head of zeros is 0, by which its elements are divided.
#if FAULT == FAULT_FP8_FUSED_DIVIDES_BY_ZERO
#define FACTOR_OF_LARGEST(largest) ((largest) / kLargestElement)
#else
#define FACTOR_OF_LARGEST(largest) \
  ((largest) == 0.0f ? 1.0f : (largest) / kLargestElement * ((largest) - (largest) + 1.0f))
#endif
// The head whose elements give the factor. At fault, it is the first; larger ones saturate.
#if FAULT == FAULT_FP8_FUSED_FACTOR_OF_FIRST_HEAD
#define PART_OF_FACTOR(part) 0
#else
#define PART_OF_FACTOR(part) (part)
#endif

/// Quantizes `rows` rows of a part, contiguous, by a CTA of one warp.
DEVICE void quantize_part(const u16* from, elem* to, float* factor, i64 rows, int part) {
  const int lane = static_cast<int>(threadIdx.x);
  const i64 count = rows * HEAD_DIM;
  float largest = 0.0f;
  const u16* measured = from + PART_OF_FACTOR(part) * count;
  for (i64 i = lane; i < count; i += 32)
    largest = LARGER(largest, fabsf(given_to_float(measured[i])));
  for (int other = 16; other > 0; other /= 2)
    largest = LARGER(largest, __shfl_xor_sync(0xffffffffu, largest, other));
  const float by = FACTOR_OF_LARGEST(largest);
  if (lane == 0) factor[part] = by;
  for (i64 i = part * count + lane; i < (part + 1) * count; i += 32)
    to[i] = from_float(given_to_float(from[i]) / by);
}

extern "C" __global__ void fault_quantize(const u16* q, const u16* k, const u16* v, elem* q_fp8,
                                          elem* k_fp8, elem* v_fp8, float* factors) {
  const int part = static_cast<int>(blockIdx.x) % kParts;
  const int tensor = static_cast<int>(blockIdx.x) / kParts;
  if (tensor == 0) quantize_part(q, q_fp8, factors, i64{kHeadGroup} * SEQ_Q, part);
  if (tensor == 1) quantize_part(k, k_fp8, factors + kParts, SEQ_KV, part);
  if (tensor == 2) quantize_part(v, v_fp8, factors + 2 * kParts, SEQ_KV, part);
}

extern "C" __global__ void fault_main(const elem* q, const elem* k, const elem* v,
                                      const float* factors, out_elem* out) {
  attend_and_store(q, k, v, out, factors_of(factors, factors + kParts, factors + 2 * kParts));
}

#endif  // FAULT
