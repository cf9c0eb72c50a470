// f16_scores.cuh: Keeps S of an fp8 problem in f16, as wgmma leaves it, and makes P of it by linear
// exponentials (exp2.cuh), two elements an instruction.
//
// f16 between 1024 and 2048 are whole numbers: an fma of two elements of S, no less than 0, plus
// 1024 ends in their codes. Below 256 f16 has steps of 1/8: what is rounded twice is close to the
// code. That S fits f16, Q is divided by a power of two on its way to registers, as A operands of
// QK^T: no element of K is above kLargestElement, so |S| is at most that times the sum of a row's
// magnitudes. notes.md, "S in f16", derives what either costs.
#pragma once

#include "common/ldmatrix.cuh"
#include "common/wgmma.cuh"
#include "fa_wgmma/exp2.cuh"

#if BLOCK_N == 64
WGMMA_DEFINE_QK_F16(wgmma_qk_f16, wgmma_qk_f16_zero, 64, 32)
#elif BLOCK_N == 96
WGMMA_DEFINE_QK_F16(wgmma_qk_f16, wgmma_qk_f16_zero, 96, 48)
#elif BLOCK_N == 128
WGMMA_DEFINE_QK_F16(wgmma_qk_f16, wgmma_qk_f16_zero, 128, 64)
#elif BLOCK_N == 160
WGMMA_DEFINE_QK_F16(wgmma_qk_f16, wgmma_qk_f16_zero, 160, 80)
#elif BLOCK_N == 192
WGMMA_DEFINE_QK_F16(wgmma_qk_f16, wgmma_qk_f16_zero, 192, 96)
#elif BLOCK_N == 224
WGMMA_DEFINE_QK_F16(wgmma_qk_f16, wgmma_qk_f16_zero, 224, 112)
#else
WGMMA_DEFINE_QK_F16(wgmma_qk_f16, wgmma_qk_f16_zero, 256, 128)
#endif

constexpr bool kIsE5m2 = DTYPE == DTYPE_E5M2;
constexpr float kLargestF16 = 65504.0f;
constexpr u32 kEachByte = 0x01010101u;
/// From the code of an element to that of twice as much, and the code of the first that is no
/// number.
constexpr u32 kTwice = kIsE5m2 ? 4 : 8, kNotFinite = kIsE5m2 ? 0x7c : 0x7f;
/// The largest code of P, that of 448.
constexpr u32 kMostCode = 126;
/// Whether elements of P below 2^-6 could count, there are so many keys: the gates refused configs
/// of a little more, by inputs with outliers (notes.md, "S in f16").
constexpr int kKeysOfARow = SEQ_KV / (1 + CAUSAL);
constexpr bool kTail = kF16Scores && kKeysOfARow > (kLazyRescale ? (HEAD_DIM <= 64 ? 1024 : 8192)
                                                                 : (HEAD_DIM <= 64 ? 4096 : 16384));
/// The code of a row's largest P, before it is rounded.
constexpr float kTopCode = 8.0f * kPShift + kCodeOffset;

/// S of a KV block, or its codes: [n][half] has the two of a row in tile n.
struct F16Fragment {
  u32 at[kNTiles][2];

  DEVICE void pin_here() { pin<2 * kNTiles>(&at[0][0]); }

  /// The maxima of this lane's S: of its two rows, a pair each.
  DEVICE void top(u32 (&rows)[2]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      rows[half] = at[0][half];
#pragma unroll
      for (int n = 1; n < kNTiles; ++n) rows[half] = max_f16x2(rows[half], at[n][half]);
    }
  }
};

/// The keys that mask_scores of mma_softmax.cuh masks, of rows that are not packed.
template <bool kEnd>
DEVICE void mask_scores(F16Fragment& s, int row, int key) {
  const int keys_left = SEQ_KV - key, diagonal = row + DIAGONAL - key;
#pragma unroll
  for (int n = 0; n < kNTiles; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      u32 masked = 0;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        bool hidden = kEnd && 8 * n + i >= keys_left;
        if (CAUSAL != 0) hidden = hidden || 8 * n + i - 8 * half > diagonal;
        if (hidden) masked |= 0xffffu << 16 * i;
      }
      s.at[n][half] = (s.at[n][half] & ~masked) | (0xfc00fc00u & masked);
    }
  }
}

/// The maxima of a row of S from those of its lanes: row `half` in the pair's half.
DEVICE u32 row_max_f16(const u32 (&top)[2]) {
  u32 rows =
      max_f16x2(permute_bytes<0x5410>(top[0], top[1]), permute_bytes<0x7632>(top[0], top[1]));
#pragma unroll
  for (int lane = 2; lane > 0; lane /= 2)
    rows = max_f16x2(rows, __shfl_xor_sync(0xffffffffu, rows, lane));
  return rows;
}
DEVICE float half_of(u32 pair, int half) {
  return f16_to_float(static_cast<u16>(half == 0 ? pair : pair >> 16));
}

/// A warp's 16 rows of Q as A operands of QK^T: registers 4i, 4i + 2 of a k-step are of row lane /
/// 4, the others of that 8 further.
struct QueryOperands {
  u32 at[4 * kDSteps];

  /// `warp_row`: the first of the rows in Q's tile, which is here.
  DEVICE void load(u32 q, int warp_row, int lane) {
    const u32 row = warp_row + lane % 16;
    const u32 swizzle = kBoxBytes == 128 ? row & 7 : row >> 1 & 3;
    const u32 from = q + row * kBoxBytes;
#pragma unroll
    for (int step = 0; step < kDSteps; ++step) {
      u32 a[4];
      const u32 chunk = (2 * (step % kBoxSteps) + lane / 16) ^ swizzle;
      ldmatrix_x4(a, from + step / kBoxSteps * (BLOCK_M * kBoxBytes) + chunk * 16);
#pragma unroll
      for (int i = 0; i < 4; ++i) at[4 * step + i] = a[i];
    }
  }

  /// Over 2^shift, of each half's row. Below the least normal element, 2^-6 or 2^-14, results are
  /// cut off to between 0 and it.
  DEVICE void divide(const u32 (&shift)[2]) {
    const u32 by[2] = {kEachByte * kTwice * shift[0], kEachByte * kTwice * shift[1]};
#pragma unroll
    for (int i = 0; i < 4 * kDSteps; ++i) {
      const u32 lower = (at[i] | 0x80u * kEachByte) - by[i % 2];
      const u32 stays = permute_bytes<0xba98>(lower, lower);  // 0xff where the byte's sign is left
      at[i] = (lower & stays & 0x7fu * kEachByte) | (at[i] & 0x80u * kEachByte);
    }
  }

  /// The magnitudes of a row's elements, added up over its lanes.
  DEVICE float magnitudes(int half) const {
    float sum = 0.0f;
#pragma unroll
    for (int i = half; i < 4 * kDSteps; i += 2) {
#pragma unroll
      for (int byte = 0; byte < 4; ++byte) {
        sum += to_float(static_cast<elem>(at[i] >> 8 * byte & 0x7f));
      }
    }
    return warp_sum<4>(sum);
  }

  /// QK^T of a stage of K: begun, and committed.
  DEVICE void issue_qk(F16Fragment& s, u32 k_tile) const {
    const u64 k = make_smem_desc_k_major<kBoxBytes>(k_tile);
#pragma unroll
    for (int step = 0; step < kDSteps; ++step) {
      const u64 b = k + step / kBoxSteps * (kBoxBytes / 16) * BLOCK_N + step % kBoxSteps * kKStep;
      if (step == 0) {
        wgmma_qk_f16_zero(&s.at[0][0], at, b);
      } else {
        wgmma_qk_f16(&s.at[0][0], at + 4 * step, b);
      }
    }
    wgmma_commit();
  }
};

/// From S to codes of P: two a register, what S is multiplied by and what is added.
struct CodeLine {
  u32 scale[2];   // of a lane's two rows
  u32 offset[2];  // row_max is in it

  /// score_scale: of S whose Q was not divided by 2^shift.
  DEVICE void set_scale(int half, float score_scale, u32 shift) {
    const float wanted = score_scale * __uint_as_float((127 + 3 + shift) << 23);
    // Not 0, which -inf would make NaN of; NaN stays.
    const float held = wanted < 0x1p-24f ? 0x1p-24f : wanted > kLargestF16 ? kLargestF16 : wanted;
    scale[half] = pack2_f16(held, held);
  }
  /// The offset by which the row's largest S becomes its largest P, as f16 has it.
  DEVICE float offset_of(int half, float row_max) const {
    const float wanted = fmaf(-row_max, half_of(scale[half], 0), kTopCode);
    return f16_to_float(float_to_f16(wanted < -kLargestF16 ? -kLargestF16 : wanted));
  }
  DEVICE void set_offset(int half, float to) { offset[half] = pack2_f16(to, to); }

  /// Two codes, each plus 1024.
  DEVICE u32 codes(u32 pair, int half) const {
    u32 line, codes;
    if constexpr (kTail) {
      asm("fma.rn.f16x2 %0, %1, %2, %3;"
          : "=r"(line)
          : "r"(pair), "r"(scale[half]), "r"(offset[half]));
      return codes_with_tail(line);
    }
    asm("fma.rn.relu.f16x2 %0, %1, %2, %3;"
        : "=r"(line)
        : "r"(pair), "r"(scale[half]), "r"(offset[half]));
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(codes) : "r"(line), "r"(kCodesZero));
    return codes;
  }
};
