// prelude.cuh: Defines the element types of DTYPE, conversions, exp2 and warp reductions.
// No toolkit headers: NVRTC alone compiles it. Inline PTX where the instruction exists, exact
// arithmetic where it does not. Template parameters are kNamed: capitals are a config's macros.
#pragma once

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
static_assert(sizeof(u64) == 8 && sizeof(i64) == 8, "64-bit offsets");

#define DTYPE_F16 1
#define DTYPE_BF16 2
#define DTYPE_E4M3 3
#define DTYPE_E5M2 4

#ifndef DTYPE
#error "DTYPE must be defined: 1 f16, 2 bf16, 3 e4m3, 4 e5m2"
#endif

#define DEVICE __device__ __forceinline__

constexpr bool kIs16Bit = DTYPE == DTYPE_F16 || DTYPE == DTYPE_BF16;

/// -infinity: a masked score. Never subtract two of them without asking first.
#define NEG_INF (__int_as_float(0xff800000))

template <typename T>
__host__ __device__ constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

template <typename T>
__host__ __device__ constexpr T min_of(T a, T b) {
  return a < b ? a : b;
}

template <typename T>
__host__ __device__ constexpr T max_of(T a, T b) {
  return a > b ? a : b;
}

// ---- f16 and bf16, as raw bits; every rounding is to nearest, ties to even ----

DEVICE float f16_to_float(u16 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

DEVICE u16 float_to_f16(float value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

DEVICE float bf16_to_float(u16 bits) { return __uint_as_float(static_cast<u32>(bits) << 16); }

DEVICE u16 float_to_bf16(float value) {
#if __CUDA_ARCH__ >= 800
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  const u32 bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<u16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
}

/// Two values in one register, `lo` in the low half, as mma fragments and 4-byte stores want them.
DEVICE u32 pack2_f16(float lo, float hi) {
#if __CUDA_ARCH__ >= 800
  u32 bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(hi), "f"(lo));
  return bits;
#else
  return static_cast<u32>(float_to_f16(lo)) | (static_cast<u32>(float_to_f16(hi)) << 16);
#endif
}

DEVICE u32 pack2_bf16(float lo, float hi) {
#if __CUDA_ARCH__ >= 800
  u32 bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(hi), "f"(lo));
  return bits;
#else
  return static_cast<u32>(float_to_bf16(lo)) | (static_cast<u32>(float_to_bf16(hi)) << 16);
#endif
}

// ---- fp8: saturating to the largest finite value, NaN to 0x7f ----

/// The software path: kMantissa bits after the point, exponent kBias, kLargest finite code.
template <int kMantissa, int kBias, int kLargest>
DEVICE u8 float_to_fp8_exact(float value) {
  const u32 bits = __float_as_uint(value);
  const u32 magnitude = bits & 0x7fffffffu;
  const u32 sign = (bits >> 24) & 0x80u;
  if (magnitude > 0x7f800000u) return 0x7f;
  constexpr int kDropped = 23 - kMantissa;
  constexpr u32 kSmallestNormal = static_cast<u32>(128 - kBias) << 23;
  u32 code;
  if (magnitude >= kSmallestNormal) {
    const u32 half_less_one = (1u << (kDropped - 1)) - 1u;
    const u32 rounded = magnitude + half_less_one + ((magnitude >> kDropped) & 1u);
    code = (rounded >> kDropped) - (static_cast<u32>(127 - kBias) << kMantissa);
  } else {
    // A subnormal counts steps of 2^(1 - kBias - kMantissa); rounding up into the normals is right.
    const float step_inverse = __uint_as_float(static_cast<u32>(127 + kBias - 1 + kMantissa) << 23);
    code = static_cast<u32>(__float2int_rn(__uint_as_float(magnitude) * step_inverse));
  }
  if (code > static_cast<u32>(kLargest)) code = kLargest;
  return static_cast<u8>(sign | code);
}

DEVICE u8 float_to_e4m3(float value) {
#if __CUDA_ARCH__ >= 890
  u16 pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
  return static_cast<u8>(pair);
#else
  return float_to_fp8_exact<3, 7, 0x7e>(value);
#endif
}

DEVICE u8 float_to_e5m2(float value) {
#if __CUDA_ARCH__ >= 890
  u16 pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
  return static_cast<u8>(pair);
#else
  return float_to_fp8_exact<2, 15, 0x7b>(value);
#endif
}

#if __CUDA_ARCH__ >= 890
/// Four values in one register, the first in the lowest byte.
DEVICE u32 pack4_e4m3(float a, float b, float c, float d) {
  u32 bits;
  asm("{.reg .b16 lo, hi; cvt.rn.satfinite.e4m3x2.f32 lo, %2, %1; "
      "cvt.rn.satfinite.e4m3x2.f32 hi, %4, %3; mov.b32 %0, {lo, hi};}"
      : "=r"(bits)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return bits;
}
#endif

/// Through f16, which holds every e4m3 value: same sign and mantissa, exponent bias 15 for 7, hence
/// the factor 2^8.
DEVICE float e4m3_to_float(u8 code) {
  if ((code & 0x7fu) == 0x7fu) return __uint_as_float(0x7fffffffu);
  const u32 bits = ((code & 0x80u) << 8) | ((code & 0x7fu) << 7);
  return f16_to_float(static_cast<u16>(bits)) * 256.0f;
}

/// e5m2 is the upper byte of f16.
DEVICE float e5m2_to_float(u8 code) { return f16_to_float(static_cast<u16>(code << 8)); }

// ---- DTYPE: the element type of q, k, v and out, as raw bits, and its largest finite value ----

#if DTYPE == DTYPE_F16
using elem = u16;
constexpr float kLargestElement = 65504.0f;
DEVICE float to_float(elem bits) { return f16_to_float(bits); }
DEVICE elem from_float(float value) { return float_to_f16(value); }
DEVICE u32 pack2(float lo, float hi) { return pack2_f16(lo, hi); }
#elif DTYPE == DTYPE_BF16
using elem = u16;
constexpr float kLargestElement = 0x1.fep127f;
DEVICE float to_float(elem bits) { return bf16_to_float(bits); }
DEVICE elem from_float(float value) { return float_to_bf16(value); }
DEVICE u32 pack2(float lo, float hi) { return pack2_bf16(lo, hi); }
#elif DTYPE == DTYPE_E4M3
using elem = u8;
constexpr float kLargestElement = 448.0f;
DEVICE float to_float(elem bits) { return e4m3_to_float(bits); }
DEVICE elem from_float(float value) { return float_to_e4m3(value); }
#elif DTYPE == DTYPE_E5M2
using elem = u8;
constexpr float kLargestElement = 57344.0f;
DEVICE float to_float(elem bits) { return e5m2_to_float(bits); }
DEVICE elem from_float(float value) { return float_to_e5m2(value); }
#else
#error "DTYPE must be 1 (f16), 2 (bf16), 3 (e4m3) or 4 (e5m2)"
#endif

#if DTYPE == DTYPE_F16 || DTYPE == DTYPE_BF16
/// The two elements of a packed register.
DEVICE void unpack2(u32 pair, float& lo, float& hi) {
  lo = to_float(static_cast<elem>(pair & 0xffffu));
  hi = to_float(static_cast<elem>(pair >> 16));
}
#endif

// ---- arithmetic ----

/// 2^x in one instruction: 2 ulp, subnormal results flushed to zero, fast_exp2(NEG_INF) == 0.
DEVICE float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Reductions over groups of kWidth neighbouring lanes (a power of two); every lane gets the
/// result.
template <int kWidth = 32>
DEVICE float warp_max(float value) {
#pragma unroll
  for (int lane = kWidth / 2; lane > 0; lane /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, lane));
  }
  return value;
}

template <int kWidth = 32>
DEVICE float warp_sum(float value) {
#pragma unroll
  for (int lane = kWidth / 2; lane > 0; lane /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, lane);
  }
  return value;
}
