// packed_mainloop.cuh - one warpgroup's KV blocks of an fp8 problem, S packed to bf16 as soon as it is
// there: QK^T of the next KV block begins before softmax of this one, in the same registers.
//
// P is linear between powers of two (exp2.cuh), two elements an instruction: bf16 between 128 and 256
// are whole numbers, so that one fma leaves 128 + code. row_max is that of a row's first KV block, as
// in interleaved_mainloop.cuh. notes.md, "S in bf16", says what that costs P.
#pragma once

#include "fa_wgmma/interleaved_mainloop.cuh"

/// Two codes as bf16, each plus 128, whose last bits they are.
constexpr u32 kPackedZero = 0x43004300u;
/// The largest code of e4m3, that of 448.
constexpr u32 kMostCode = 126;
/// Rows are redone where row_max is further from 0, in powers of two: up to there bf16 keeps P to
/// 1.6 %. Chosen; N(0,1) elements of q and k at HEAD_DIM 64 come to 8.
constexpr float kMostPower = 12.0f;
/// Rows are redone where one element of P has a larger part of row_sum: its rounding would not
/// average out. Chosen, as kLeastPart; notes.md, "S in bf16", says how seldom either is met.
constexpr float kMostPart = 0.4f;
/// Or where a key has on average less of the row's first maximum.
constexpr float kLeastPart = 1.0f / 256;

DEVICE u32 max_bf16x2(u32 a, u32 b) {
  u32 result;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
DEVICE u32 fma_bf16x2(u32 a, u32 b, u32 c) {
  u32 result;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}

struct PackedMainloop : InterleavedMainloop {
  u32 packed[kNTiles][2];  // S of the present KV block: neighbours of a row
  u32 code_scale;
  u32 code_offset[2];
  u32 largest[2] = {kPackedZero, kPackedZero};

  DEVICE explicit PackedMainloop(Consumer& consumer_) : InterleavedMainloop(consumer_) {}

  /// All KV blocks of a work tile, and row_sum.
  DEVICE void run(const WorkTile& tile) {
    if (!consumer.begin(tile, true, 0)) return;
    consumer.compute_s(true);
    pack_s();
#pragma unroll 1
    for (int blocks = consumer.remaining; blocks > 0; --blocks) iteration(blocks > 1);
    consumer.take_row_sum();
  }

  DEVICE bool redo_if_overflowed(const Producer& producer) {
    return redo_if(overflowed(), producer);
  }

 private:
  DEVICE bool overflowed() const {
    bool any = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float keys = visible_keys(consumer.position() + 8 * half);
      const float row_sum = consumer.state.row_sum[0][half];
      const float power = fabsf(consumer.state.row_max[0][half]) * kScale;
      const u32 code = max(largest[half] & 0xffff, largest[half] >> 16) - (kPackedZero & 0xffff);
      // The bits of e4m3 as those of f32, whose exponents are 120 more.
      const float p = __int_as_float((code + (120 << 3)) << 20) * State<1, 1>::row_sum_unit();
      any = any || code > kMostCode || power > kMostPower || p > kMostPart * row_sum ||
            row_sum < kLeastPart * keys;
    }
    return any;
  }

  DEVICE void pack_s() {
#pragma unroll
    for (int n = 0; n < kNTiles; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float(&s)[4] = consumer.scores.at[0][n];
        packed[n][half] = pack2_bf16(s[2 * half], s[2 * half + 1]);
      }
    }
  }

  /// row_max of the first KV block, and what codes are computed with.
  DEVICE void take_row_max() {
    u32 top[2] = {packed[0][0], packed[0][1]};
#pragma unroll
    for (int n = 1; n < kNTiles; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) top[half] = max_bf16x2(top[half], packed[n][half]);
    }
    u32 rows = max_bf16x2(permute_bytes<0x5410>(top[0], top[1]),
                          permute_bytes<0x7632>(top[0], top[1]));
#pragma unroll
    for (int lane = 2; lane > 0; lane /= 2) {
      rows = max_bf16x2(rows, __shfl_xor_sync(0xffffffffu, rows, lane));
    }
    code_scale = pack2_bf16(8.0f * consumer.state.scale(), 8.0f * consumer.state.scale());
    const float scale = __uint_as_float(code_scale << 16);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float row_max = __uint_as_float(half == 0 ? rows << 16 : rows & 0xffff0000u);
      const float offset = fmaf(-row_max, scale, 8.0f * kPShift + kCodeOffset + 128.0f);
      consumer.state.row_max[0][half] = row_max;
      code_offset[half] = pack2_bf16(offset, offset);
    }
  }

  /// P and PV of a KV block; where there are `more`, meanwhile S of the next.
  DEVICE void iteration(bool more) {
    const PipelineState here = consumer.at;
    if (more) {
      consumer.at = here.next();
      mbarrier_wait(consumer.storage.k_full(consumer.at.stage), consumer.at.phase);
      wgmma_fence();
      consumer.issue_qk();
    }
    if (here.iteration == 0) {
      take_row_max();
    } else if (more) {
      wgmma_wait<1>();  // PV of the KV block before has read P
    } else {
      wgmma_wait<0>();
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      u32* const p = consumer.p + 4 * step;
      compute_p(p, step);
      if (step == 0) mbarrier_wait(consumer.storage.pv_full(here.stage), here.phase);
      wgmma_fence();
      issue_pv<false>(p, here, step);
      wgmma_commit();
    }
    wgmma_wait<kSteps>();
    pin<BLOCK_N / 2>(accumulator_of(consumer.scores));
    if (!more) return;
    if (kAnyMask) consumer.mask(consumer.scores);
    pack_s();
  }

  /// S of a k-step's keys to P, as an A operand.
  DEVICE void compute_p(u32* p, int step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int half = i % 2;
      u32 codes[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const u32 s = packed[kPTiles * step + i / 2 * 2 + j][half];
        codes[j] = max_bf16x2(fma_bf16x2(s, code_scale, code_offset[half]), kPackedZero);
        largest[half] = max_bf16x2(largest[half], codes[j]);
      }
      p[i] = pack_codes(codes[0], codes[1]);
    }
    pin<4>(p);
  }
};
