// interleaved_mainloop.cuh: Iterates over a warpgroup's KV blocks in small steps: the exponentials
// of 16 keys (of fp8 32), their PV, and a piece of QK^T of the next KV block.
//
// row_max is that of a row's first KV block, so nothing has to be known of a block before its
// exponentials begin. P then stays below 2^16 unless a later score is 16 powers of two above that
// row_max; if one was, row_sum shows it at the end, and all KV blocks are redone with rescaling. Of
// fp8 P may reach 448, and its largest elements are kept.
#pragma once

#include "fa_wgmma/consumer.cuh"
#include "fa_wgmma/ones.cuh"
#include "fa_wgmma/producer.cuh"

/// The largest f16: no element of P is above a row_sum below it.
constexpr float kMaxRowSum = 65504.0f;
/// The largest e4m3: of fp8 the largest element of P itself is looked at.
constexpr float kMaxP = 448.0f;
/// What a key of a row has on average of the row's largest element is at least one in so many, or
/// the row is redone; of N(0,1) scores it is one in 7. Chosen: a 16th of row_sum is lost at most.
constexpr float kLeastShare = 128.0f;

struct InterleavedMainloop {
  Consumer& consumer;
  ScoreFragment other;  // S, in turn with the consumer's
  u32 other_p[4 * kPSteps];
  int largest_p = 0;  // of fp8: the bits of the largest, which are ordered as the numbers are
  u32 largest_codes = kCodesZero;

  DEVICE explicit InterleavedMainloop(Consumer& consumer_) : consumer(consumer_) {}

  /// All KV blocks of a work tile; the last PV may still be in flight when it returns.
  DEVICE void run(const WorkTile& tile) {
    if (!consumer.begin(tile, true, 0)) return;
    if constexpr (kPromote) {
      const float as_it_is[2] = {1.0f, 1.0f};
      consumer.pv.keep_rescale(as_it_is);
    }
    iterate();
    if (!kRowSumByMma) return;
    wgmma_wait<0>();
    pin<4 * kAccTiles>(consumer.pv_accumulator());
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      constexpr int kAt = 4 * (kAccTiles - 1);
      const float sum = consumer.pv.sum(consumer.acc_o(), kAt + 2 * half);
      consumer.state.row_sum[0][half] = sum * (1.0f / kOne);
    }
  }

  /// Whether row_max was too low for one of the warpgroup's rows; then all KV blocks have been
  /// redone, one wgmma at a time, with rescaling at every block. Without splits, where no other
  /// warpgroup needs row_sum, it is called after the stores: in front of them its mere code, which
  /// every launch would have to jump over, costs 0.1 us of 5.6 (notes.md, "Measured").
  DEVICE bool redo_if_overflowed(const Producer& producer) {
    return redo_if(overflowed(), producer);
  }

 protected:
  DEVICE bool redo_if(bool overflowed, const Producer& producer) {
    if (kStoreTma && kSplits == 1) tma_store_wait_all();
    if (!named_barrier_any<128>(redo_barrier(), overflowed)) return false;
    if (consumer.remaining <= 0) return true;
    if (kSplits > 1) consumer.wait_pv();
    if (kIs16Bit && kSplits == 1) reload_q(producer);
    consumer.redo();
    if (kRowSumByMma) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        consumer.state.row_sum[0][half] = warp_sum<4>(consumer.state.row_sum[0][half]);
      }
    }
    return true;
  }

  static constexpr int kSteps = kPSteps;
  static constexpr int kKvBlocks = (SEQ_KV + BLOCK_N - 1) / BLOCK_N;
  // of a warpgroup, where every one has as many; otherwise 0
  static constexpr int kBlocks = !MASKED && kKvBlocks % kSplits == 0 ? kKvBlocks / kSplits : 0;

  DEVICE int redo_barrier() const { return barrier_id(NamedBarrier::kRedo, consumer.warpgroup); }

  DEVICE bool overflowed() const {
    const float(&row_sum)[2] = consumer.state.row_sum[0];
    if (kIs16Bit) return !(row_sum[0] <= kMaxRowSum && row_sum[1] <= kMaxRowSum);
    return largest_p > __float_as_int(kMaxP) ||
           (kEx2Linear > 0 &&
            (max_f16x2(largest_codes, kCodesMost) != kCodesMost || few_keys_outweigh()));
  }

  /// Whether a few keys have most of a row's sum, so that what linear exponentials lose of all the
  /// others, up to 2^-11 a key, could count.
  DEVICE bool few_keys_outweigh() const {
    bool any = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float keys = key_end(consumer.position() + 8 * half);
      any = any || consumer.state.row_sum[0][half] * kLeastShare < keys;
    }
    return any;
  }

  /// O has taken Q's place.
  DEVICE void reload_q(const Producer& producer) const {
    async_proxy_fence();
    named_barrier_sync<128>(redo_barrier());
    if (threadIdx.x % 128 == 0) producer.load_q(consumer.tile, consumer.row_block);
    __syncwarp();
    mbarrier_wait(consumer.storage.q_full(consumer.row_block), 1);
  }

  /// Two KV blocks an iteration, S and P in turn. Where kBlocks is known, one of the two exits is
  /// compiled: NVRTC spends most of its time on these bodies.
  DEVICE void iterate() {
    ScoreFragment& scores = consumer.f32_softmax.s;
    consumer.compute_s(true);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      consumer.state.row_max[0][half] = row_max_of(scores, 0, half);
    }
#pragma unroll 1
    for (int blocks = consumer.remaining;; blocks -= 2) {
      if constexpr (kBlocks == 0 || kBlocks % 2 == 1) {
        if (blocks == 1) return iteration<false, kPromote>(scores, other, consumer.p);
      }
      iteration<true, kPromote>(scores, other, consumer.p);
      if constexpr (kBlocks % 2 == 0) {
        if (blocks == 2) return iteration<false, kEveryBlock>(other, scores, other_p);
      }
      iteration<true, kEveryBlock>(other, scores, other_p);
    }
  }

  static constexpr bool kEveryBlock = kPromote && kSummedBlocks == 1;

  /// P and PV of a KV block whose S is `now`; kMore: meanwhile S of the next KV block, into `next`.
  /// kFresh: promotes what PV of the KV blocks before has come to, and adds from zero.
  /// The last step's PV is in flight when it returns, all other wgmmas are over.
  template <bool kMore, bool kFresh>
  DEVICE void iteration(ScoreFragment& now, ScoreFragment& next, u32* p) {
    const PipelineState here = consumer.at;
    if (kSoftcap && here.iteration >= INTRA_CTA_SPLITS) cap_scores(now);
    if (kAnyMask && here.iteration >= INTRA_CTA_SPLITS) consumer.mask(now);
    if (kMore) {
      consumer.at = here.next();
      mbarrier_wait(consumer.storage.k_full(consumer.at.stage), consumer.at.phase);
    }
    mbarrier_wait(consumer.storage.pv_full(here.stage), here.phase);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      compute_p(p + 4 * step, now, step);
      if constexpr (kFresh) {
        if (step == 0) promote_pv();
      }
      wgmma_fence();
      if (kMore) issue_qk(next, step);
      if (kMore && step + 1 == kSteps) wgmma_commit();
      issue_pv<kFresh>(p + 4 * step, here, step);
    }
    wgmma_commit();
    if (!kMore) return;
    wgmma_wait<1>();
    pin<BLOCK_N / 2>(accumulator_of(next));
  }

  /// O and its row_sum, which are of one scale from beginning to end.
  DEVICE void promote_pv() {
    wgmma_wait<0>();
    pin<4 * kAccTiles>(consumer.pv_accumulator());
    const float as_it_is[2] = {1.0f, 1.0f};
    consumer.pv.add_to(consumer.acc_o(), as_it_is);
  }

  /// S of a k-step's keys to P, packed as an A operand.
  DEVICE void compute_p(u32* p, const ScoreFragment& scores, int step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int half = i % 2;
      const float offset = consumer.state.exponent_offset(consumer.state.row_max[0][half]);
      if (kEx2Linear > 0 && is_linear(half, 2 * step + i / 2)) {
        p[i] = linear_p(scores, half, kPTiles * step + i / 2 * 2, offset);
        continue;
      }
      float elements[kPTiles];
#pragma unroll
      for (int j = 0; j < kPTiles; ++j) {
        const int n = kPTiles * step + i / 2 * (kPTiles / 2) + j / 2;
        const int at = 2 * half + j % 2;
        const float power = fmaf(scores.at[0][n][at], consumer.state.scale(), offset);
        elements[j] = exp2_of(4 * n + at, power);
      }
#pragma unroll
      for (int j = 0; j < kPTiles && !kIs16Bit; j += 2) {
        const int left = __float_as_int(elements[j]), right = __float_as_int(elements[j + 1]);
        largest_p = max(largest_p, max(left, right));
      }
#pragma unroll
      for (int j = 0; j < kPTiles && !kRowSumByMma; j += 2) {
        consumer.state.row_sum[0][half] += elements[j] + elements[j + 1];
      }
      p[i] = pack_elements(elements);
    }
    pin<4>(p);
  }

  /// Four elements of P, of two tiles from n on, by linear exponentials.
  DEVICE u32 linear_p(const ScoreFragment& scores, int half, int n, float offset) {
    const float scale = 8.0f * consumer.state.scale();
    const float code_offset = fmaf(8.0f, offset, kCodeOffset);
    u32 codes[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float(&s)[4] = scores.at[0][n + i];
      codes[i] = codes_with_tail(pack2_f16(fmaf(s[2 * half], scale, code_offset),
                                           fmaf(s[2 * half + 1], scale, code_offset)));
      largest_codes = max_f16x2(largest_codes, codes[i]);
    }
    return pack_codes(codes[0], codes[1]);
  }

  /// This step's share of QK^T of the next KV block.
  DEVICE void issue_qk(ScoreFragment& next, int step) const {
    const u32 rows = consumer.storage.q() + consumer.row_block * 64 * kBoxBytes;
    const u64 q = make_smem_desc_k_major<kBoxBytes>(rows);
    const u64 k = make_smem_desc_k_major<kBoxBytes>(consumer.storage.k(consumer.at.stage));
#pragma unroll
    for (int part = 0; part < kDSteps; ++part) {
      if (part * kSteps / kDSteps != step) continue;
      const u64 box = part / kBoxSteps * (kBoxBytes / 16);
      const u64 a = q + box * BLOCK_M + part % kBoxSteps * kKStep;
      const u64 b = k + box * BLOCK_N + part % kBoxSteps * kKStep;
      if (part == 0) {
        wgmma_qk_zero(accumulator_of(next), a, b);
      } else {
        wgmma_qk(accumulator_of(next), a, b);
      }
    }
  }

  /// P of a k-step's keys times V, and times ones for row_sum: the box behind that of 16-bit V's 64
  /// columns is the one of ones, wherever the step's keys are.
  template <bool kFresh>
  DEVICE void issue_pv(const u32* p, const PipelineState& here, int step) {
    const u32 stage = consumer.storage.pv_operand(here.stage);
    const u32 add = kFresh && step == 0 ? from_zero() : 1;
    if (kRowSumByMma && kTransposeV) {
      const u64 v = Consumer::v_descriptor(stage) + Consumer::v_step(step);
      wgmma_pv_and_row_sum(consumer.pv_accumulator(), p, v, add);
    } else if (kRowSumByMma) {
      const u64 v = make_smem_desc_mn_major(stage, consumer.storage.ones() - stage);
      wgmma_pv_and_row_sum(consumer.acc_o(), p, v + step * (kMnStep - (kMnStep << 16)), 1);
    } else {
      const u64 v = Consumer::v_descriptor(stage) + Consumer::v_step(step);
      wgmma_pv_rs(consumer.pv_accumulator(), p, v, add);
    }
  }
};
