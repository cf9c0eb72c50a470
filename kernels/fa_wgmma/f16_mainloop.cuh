// f16_mainloop.cuh: Iterates over the resident KV blocks of an fp8 problem with S in f16
// (f16_scores.cuh). Two of them are held in turn, so that QK^T of the next KV block is always in
// flight.
//
// row_max is that of a row's first KV block, as in interleaved_mainloop.cuh, and Q is divided by
// what normal inputs need. Whether S fits f16 so, and Q's elements e4m3 or e5m2, is looked at in
// the end. notes.md, "S in f16", has the figures.
#pragma once

#include "fa_wgmma/f16_scores.cuh"
#include "fa_wgmma/interleaved_mainloop.cuh"

WGMMA_DEFINE_QK_RS(wgmma_magnitudes, 8)

/// Powers of two that Q is divided by: a quantizer leaves magnitudes of 85 on average, of e5m2 of
/// 10,900, HEAD_DIM of which times the largest K come to some 40,000 then.
constexpr u32 kQShift = (HEAD_DIM <= 64 ? 6 : HEAD_DIM <= 128 ? 7 : 8) + (kIsE5m2 ? 14 : 0);
/// Rows are redone where row_max is further from 0, in powers of two: up to there f16 keeps P to
/// 1 %. Chosen; N(0,1) elements of q and k at HEAD_DIM 64 come to 8.
constexpr float kMostPower = 64.0f;
/// Rows are redone where one element of P has a larger part of row_sum: its rounding would not
/// average out. Chosen, as kLeastPart; notes.md, "S in f16", says how seldom either is met.
constexpr float kMostPart = 0.4f;
/// Or where a key has on average less of the row's first maximum.
constexpr float kLeastPart = 1.0f / 256;
/// Or where the magnitudes of a row of divided Q come to more: only then could S pass f16.
constexpr float kMostMagnitudes = kOne * kLargestF16 / kLargestElement;
/// Or to less than 16 times the least normal element each: too many would have been cut off.
constexpr float kLeastMagnitudes = kOne * HEAD_DIM * (kIsE5m2 ? 0x1p-10f : 0x1p-2f);

struct F16Mainloop : InterleavedMainloop {
  QueryOperands q;
  F16Fragment even, odd;  // S, in turn
  CodeLine line;
  u32 largest[2] = {kCodesZero, kCodesZero};
  float magnitudes[4];  // of a row of divided Q, all together and times kOne
  bool not_finite = false;

  DEVICE explicit F16Mainloop(Consumer& consumer_) : InterleavedMainloop(consumer_) {}

  /// All KV blocks of a work tile, and row_sum.
  DEVICE void run(const WorkTile& tile) {
    if (!consumer.begin(tile, true, 0)) return;
    q.load(consumer.storage.q(), consumer.warp_row, consumer.lane);
    q.divide({kQShift, kQShift});
    pin<4 * kDSteps>(q.at);
    issue_qk(even);
    wgmma_wait<0>();
    even.pin_here();
    mask(even);
    take_row_max();
    iterate();
    consumer.take_row_sum();
  }

  DEVICE bool redo_if_overflowed(const Producer& producer) {
    return redo_if(overflowed(), producer);
  }

 private:
  DEVICE bool overflowed() const {
    bool any = not_finite;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float keys = key_end(consumer.position() + 8 * half);
      const float row_sum = consumer.state.row_sum[0][half];
      const float power = (kTopCode - half_of(line.offset[half], 0)) * 0.125f;
      const u32 code = max(largest[half] & 0xffff, largest[half] >> 16) - (kCodesZero & 0xffff);
      // The bits of e4m3 as those of f32, whose exponents are 120 more.
      const float p = __int_as_float((code + (120 << 3)) << 20) * State<1, 1>::row_sum_unit();
      any = any || code > kMostCode || !(fabsf(power) <= kMostPower) || p > kMostPart * row_sum ||
            row_sum < kLeastPart * keys || magnitudes[2 * half] > kMostMagnitudes ||
            magnitudes[2 * half] < kLeastMagnitudes;
    }
    return any;
  }

  /// S of the present KV block: begun, and committed.
  DEVICE void issue_qk(F16Fragment& s) const {
    mbarrier_wait(consumer.storage.k_full(consumer.at.stage), consumer.at.phase);
    wgmma_fence();
    q.issue_qk(s, consumer.storage.k(consumer.at.stage));
  }

  DEVICE void mask(F16Fragment& s) const {
    if (kAnyMask) consumer.mask(s);
  }

  /// row_max of the first KV block.
  DEVICE void take_row_max() {
    u32 top[2];
    even.top(top);
    const u32 rows = row_max_f16(top);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      line.set_scale(half, consumer.state.scale(), kQShift);
      line.set_offset(half, line.offset_of(half, half_of(rows, half)));
    }
  }

  /// As InterleavedMainloop's.
  DEVICE void iterate() {
#pragma unroll 1
    for (int blocks = consumer.remaining;; blocks -= 2) {
      if constexpr (kBlocks == 0 || kBlocks % 2 == 1) {
        if (blocks == 1) return iteration<false>(even, odd);
      }
      iteration<true>(even, odd);
      if constexpr (kBlocks % 2 == 0) {
        if (blocks == 2) return iteration<false>(odd, even);
      }
      iteration<true>(odd, even);
    }
  }

  /// P and PV of a KV block; with kMore meanwhile S of the next.
  template <bool kMore>
  DEVICE void iteration(const F16Fragment& now, F16Fragment& next) {
    const PipelineState here = consumer.at;
    if (kMore) {
      consumer.at = here.next();
      issue_qk(next);
    }
    if (here.iteration > 0) wgmma_wait<kMore ? 1 : 0>();  // PV of the KV block before has read P
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      u32* const p = consumer.p + 4 * step;
      compute_p(p, now, step);
      if (step == 0) mbarrier_wait(consumer.storage.pv_full(here.stage), here.phase);
      wgmma_fence();
      issue_pv<false>(p, here, step);
      if (!kMore && step == 0) add_magnitudes(here);
      wgmma_commit();
    }
    wgmma_wait<kSteps>();
    if (!kMore) return;
    next.pin_here();
    mask(next);
  }

  /// S of a k-step's keys to P, as an A operand.
  DEVICE void compute_p(u32* p, const F16Fragment& s, int step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int half = i % 2;
      u32 codes[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        codes[j] = line.codes(s.at[kPTiles * step + i / 2 * 2 + j][half], half);
        largest[half] = max_f16x2(largest[half], codes[j]);
      }
      p[i] = pack_codes(codes[0], codes[1]);
    }
    pin<4>(p);
  }

  /// After the last QK^T. Magnitudes of Q times ones, which lie behind the rows of V^T.
  DEVICE void add_magnitudes(const PipelineState& here) {
    const u32 ones = consumer.storage.pv_operand(here.stage) + HEAD_DIM * kKeyBoxBytes;
    const u64 b = make_smem_desc_k_major<kKeyBoxBytes>(ones);
    u32 carries = 0;
#pragma unroll
    for (u32& each : q.at) {
      each &= 0x7fu * kEachByte;
      carries |= each + (0x80u - kNotFinite + kTwice * kQShift) * kEachByte;
    }
    not_finite = (carries & 0x80u * kEachByte) != 0;
    pin<4 * kDSteps>(q.at);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kDSteps; ++step) {
      wgmma_magnitudes(magnitudes, q.at + 4 * step, b, step == 0 ? from_zero() : 1);
    }
  }
};
