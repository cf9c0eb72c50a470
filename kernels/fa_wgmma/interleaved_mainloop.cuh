// interleaved_mainloop.cuh - one warpgroup's KV blocks with everything in small steps: the
// exponentials of 16 keys (of fp8 32), their PV, and a piece of QK^T of the next KV block.
//
// row_max is that of a row's first KV block, so nothing has to be known of a block before its
// exponentials begin. P then stays below 2^16 unless a later score is 16 powers of two above that
// row_max; if one was, row_sum shows it at the end, and all KV blocks are redone with rescaling.
#pragma once

#include "fa_wgmma/consumer.cuh"
#include "fa_wgmma/producer.cuh"

/// The largest finite value of P's type: no element of P is above a row_sum below it.
constexpr float kMaxRowSum = kIs16Bit ? 65504.0f : 448.0f;

/// By a CTA's last 128 threads, before a barrier of it: 16 keys whose V is 1; of fp8, where each box
/// of V^T has 8 more rows for it, all keys.
DEVICE void write_ones(const SharedStorage& storage) {
  const int thread = static_cast<int>(threadIdx.x) - (kThreads - 128);
  if (thread < 0) return;
#if DTYPE == DTYPE_F16 || DTYPE == DTYPE_BF16
  const u32 ones = pack2(1.0f, 1.0f);
  shared_store(storage.ones() + 16 * thread, make_uint4(ones, ones, ones, ones));
#else
  const u32 ones = 0x01010101u * from_float(1.0f);
  constexpr int kBoxes = kStages * ceil_div(BLOCK_N, kKeyBoxBytes);
  constexpr int kEach = 8 * kKeyBoxBytes / 16;  // threads of a box's 8 rows
#pragma unroll
  for (int i = thread; i < kBoxes * kEach; i += 128) {
    const int row = i / kEach * kVRows + HEAD_DIM;
    const u32 to = storage.v_transposed(0) + row * kKeyBoxBytes + i % kEach * 16;
    shared_store(to, make_uint4(ones, ones, ones, ones));
  }
#endif
  async_proxy_fence();
}

struct InterleavedMainloop {
  Consumer& consumer;
  ScoreFragment other;  // S, in turn with the consumer's
  u32 other_p[4 * kPSteps];

  DEVICE explicit InterleavedMainloop(Consumer& consumer_) : consumer(consumer_) {}

  /// All KV blocks of a work tile; the last PV may still be in flight when it returns.
  DEVICE void run(const WorkTile& tile) {
    if (!consumer.begin(tile, true, 0)) return;
    if constexpr (kPromote) {
      consumer.block_rescale[0] = consumer.block_rescale[1] = 1.0f;
    }
    iterate();
    if (!kRowSumByMma) return;
    wgmma_wait<0>();
    pin<4 * kAccTiles>(consumer.pv_accumulator());
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      constexpr int kAt = 4 * (kAccTiles - 1);
      float sum = consumer.acc_o()[kAt + 2 * half];
      if constexpr (kPromote) sum += consumer.block_o[kAt + 2 * half];
      consumer.state.row_sum[0][half] = sum;
    }
  }

  /// Whether row_max was too low for one of the warpgroup's rows; then all KV blocks have been
  /// redone, one wgmma at a time, with rescaling at every block. Without splits, where no other
  /// warpgroup needs row_sum, it is called after the stores: in front of them its mere code, which
  /// every launch would have to jump over, costs 0.1 us of 5.6 (notes.md, "Measured").
  DEVICE bool redo_if_overflowed(const Producer& producer) {
    if (kStoreTma && kSplits == 1) tma_store_wait_all();
    const float(&row_sum)[2] = consumer.state.row_sum[0];
    const float most = kMaxRowSum * (kSplits == 1 ? consumer.state.row_sum_unit() : 1.0f);
    const bool overflow = !(row_sum[0] <= most && row_sum[1] <= most);
    if (!named_barrier_any<128>(redo_barrier(), overflow)) return false;
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

 private:
  static constexpr int kSteps = kPSteps;
  static constexpr int kKvBlocks = (SEQ_KV + BLOCK_N - 1) / BLOCK_N;
  // of a warpgroup, where every one has as many; otherwise 0
  static constexpr int kBlocks = !CAUSAL && kKvBlocks % kSplits == 0 ? kKvBlocks / kSplits : 0;

  DEVICE int redo_barrier() const { return barrier_id(NamedBarrier::kRedo, consumer.warpgroup); }

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
    consumer.compute_s(true);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      consumer.state.row_max[0][half] = row_max_of(consumer.scores, 0, half);
    }
#pragma unroll 1
    for (int blocks = consumer.remaining;; blocks -= 2) {
      if constexpr (kBlocks == 0 || kBlocks % 2 == 1) {
        if (blocks == 1) return iteration<false, kPromote>(consumer.scores, other, consumer.p);
      }
      iteration<true, kPromote>(consumer.scores, other, consumer.p);
      if constexpr (kBlocks % 2 == 0) {
        if (blocks == 2) return iteration<false, kEveryBlock>(other, consumer.scores, other_p);
      }
      iteration<true, kEveryBlock>(other, consumer.scores, other_p);
    }
  }

  static constexpr bool kEveryBlock = kPromote && !kPromotePairs;

  /// P and PV of a KV block whose S is `now`; kMore: meanwhile S of the next KV block, into `next`.
  /// kFresh: promotes what PV of the KV blocks before has come to, and adds from zero.
  /// The last step's PV is in flight when it returns, all other wgmmas are over.
  template <bool kMore, bool kFresh>
  DEVICE void iteration(ScoreFragment& now, ScoreFragment& next, u32* p) {
    const PipelineState here = consumer.at;
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
    pin<4 * kAccTiles>(consumer.block_o);
    const float as_it_is[2] = {1.0f, 1.0f};
    promote<4 * kAccTiles>(consumer.acc_o(), consumer.block_o, as_it_is);
  }

  /// S of a k-step's keys to P, packed as an A operand.
  DEVICE void compute_p(u32* p, const ScoreFragment& scores, int step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int half = i % 2;
      const float offset = consumer.state.exponent_offset(consumer.state.row_max[0][half]);
      float elements[kPTiles];
#pragma unroll
      for (int j = 0; j < kPTiles; ++j) {
        const int n = kPTiles * step + i / 2 * (kPTiles / 2) + j / 2;
        const int at = 2 * half + j % 2;
        const float power = fmaf(scores.at[0][n][at], consumer.state.scale(), offset);
        elements[j] = exp2_of(4 * n + at, power);
      }
#pragma unroll
      for (int j = 0; j < kPTiles && !kRowSumByMma; j += 2) {
        consumer.state.row_sum[0][half] += elements[j] + elements[j + 1];
      }
      p[i] = pack_elements(elements);
    }
    pin<4>(p);
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
