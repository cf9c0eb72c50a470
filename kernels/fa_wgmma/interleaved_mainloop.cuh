// woven.cuh - one warpgroup's visits with everything in small steps: 16 keys' exponentials, their
// product with the values, and a piece of the next tile's scores.
//
// A row's peak is that of its first tile, so nothing has to be known of a tile before its
// exponentials begin. Weights then stay below 2^16 unless a later score is 16 powers of two above
// that peak; if one was, the sums show it at the end, and the visits are made again, rescaling.
#pragma once

#include "fa_wgmma/loader.cuh"
#include "fa_wgmma/worker.cuh"

/// The largest finite f16: a row's sum below it has no weight above it.
constexpr float kMostRowSum = 65504.0f;

/// By a block's last 128 threads, before a barrier of it: 16 keys with a value of 1.
DEVICE void write_ones(const Memory& memory) {
  const int thread = static_cast<int>(threadIdx.x) - (kThreads - 128);
  if (thread < 0) return;
  const u32 ones = pack2(1.0f, 1.0f);
  shared_store(memory.ones() + 16 * thread, make_uint4(ones, ones, ones, ones));
  async_proxy_fence();
}

struct Woven {
  Worker& worker;
  Tile other;  // scores, in turn with the worker's
  u32 other_weights[BLOCK_N / 4];

  DEVICE explicit Woven(Worker& worker_) : worker(worker_) {}

  /// All visits of an item; the last product with values may still be under way when it returns.
  DEVICE void attend(const Item& item) {
    if (!worker.begin(item, true, 0)) return;
    visit_all();
    if (!kWholeSums) return;
    worker.wait_for_values();
    worker.state.sum[0][0] = worker.state.out[0][kOutTiles - 1][0];
    worker.state.sum[0][1] = worker.state.out[0][kOutTiles - 1][2];
  }

  /// Whether a peak was too low for one of the warpgroup's rows; then all visits have been made
  /// again, one product at a time, rescaling at every tile. Where nobody else needs the sums
  /// (kParts is 1) it is asked for behind the stores: in front of them its code alone, which every
  /// launch would have to jump over, costs 0.1 us of 5.6.
  DEVICE bool repair(const Loader& loader) {
    if (STORE == STORE_TENSOR && kParts == 1) tensor_store_wait_all();
    const float(&sum)[2] = worker.state.sum[0];
    const bool low = !(sum[0] <= kMostRowSum && sum[1] <= kMostRowSum);
    if (!named_any<128>(kRepair + worker.warpgroup, low)) return false;
    if (worker.left <= 0) return true;
    if (kParts > 1) worker.wait_for_values();
    if (kParts == 1) bring_q_again(loader);
    worker.attend_again();
    if (kWholeSums) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        worker.state.sum[0][half] = warp_sum<4>(worker.state.sum[0][half]);
      }
    }
    return true;
  }

 private:
  static constexpr int kSteps = BLOCK_N / 16;
  static constexpr int kRepair = 9;  // named barriers from here on: one for each warpgroup

  /// Finished rows have taken Q's place.
  DEVICE void bring_q_again(const Loader& loader) const {
    async_proxy_fence();
    named_sync<128>(kRepair + worker.warpgroup);
    if (threadIdx.x % 128 == 0) loader.load_q(worker.item, worker.row_block);
    __syncwarp();
    mbarrier_wait(worker.memory.q_here(worker.row_block), 1);
  }

  DEVICE void visit_all() {
    worker.score(true);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      worker.state.peak[0][half] = highest_score(worker.scores, 0, half);
    }
#pragma unroll 1
    for (int visits = worker.left;; visits -= 2) {
      if (visits == 1) return visit<false>(worker.scores, other, worker.weights);
      visit<true>(worker.scores, other, worker.weights);
      if (visits == 2) return visit<false>(other, worker.scores, other_weights);
      visit<true>(other, worker.scores, other_weights);
    }
  }

  /// The weights of a tile whose scores are here, into `weights`, and their product with its
  /// values; kMore: meanwhile the scores of the next tile, into `next`. The last step's product is
  /// under way when it returns, all others are over.
  template <bool kMore>
  DEVICE void visit(Tile& now, Tile& next, u32* weights) {
    const Cursor here = worker.at;
    if (kAnyMask && here.visit >= KEY_PARTS) worker.mask(now);
    if (kMore) {
      worker.at = here.next();
      mbarrier_wait(worker.memory.k_here(worker.at.slot), worker.at.parity);
    }
    mbarrier_wait(worker.memory.v_here(here.slot), here.parity);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      weigh(weights + 4 * step, now, step);
      wgmma_fence();
      if (kMore) add_scores(next, step);
      if (kMore && step + 1 == kSteps) wgmma_commit();
      add_values(weights + 4 * step, here, step);
    }
    wgmma_commit();
    if (!kMore) return;
    wgmma_wait<1>();
    pin<BLOCK_N / 2>(sums_of(next));
  }

  /// Scores of 16 keys to weights, packed as a left operand.
  DEVICE void weigh(u32* weights, const Tile& tile, int step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int n = 2 * step + i / 2;
      const int half = i % 2;
      const float offset = -worker.state.peak[0][half] * kScale;
      float weight[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float power = fmaf(tile.at[0][n][2 * half + j], kScale, offset);
        weight[j] = weight_at(4 * n + 2 * half + j, power);
      }
      if (!kWholeSums) worker.state.sum[0][half] += weight[0] + weight[1];
      weights[i] = pack2(weight[0], weight[1]);
    }
    pin<4>(weights);
  }

  /// This step's share of the next tile's scores.
  DEVICE void add_scores(Tile& next, int step) const {
    const u64 q = row_operand(worker.memory.q() + worker.row_block * 64 * 128);
    const u64 k = row_operand(worker.memory.k(worker.at.slot));
#pragma unroll
    for (int part = 0; part < kDSteps; ++part) {
      if (part * kSteps / kDSteps != step) continue;
      const u64 left = q + part / 4 * (BLOCK_M * 8) + part % 4 * kColumnStep;
      const u64 right = k + part / 4 * (BLOCK_N * 8) + part % 4 * kColumnStep;
      if (part == 0) {
        multiply_qk_first(sums_of(next), left, right);
      } else {
        multiply_qk(sums_of(next), left, right);
      }
    }
  }

  /// 16 keys' weights times their values, and times ones for the sums of rows: the box behind that
  /// of the values' 64 columns is the tile of ones, wherever the step's values are.
  DEVICE void add_values(const u32* weights, const Cursor& here, int step) {
    const u32 values = worker.memory.v(here.slot);
    if (kWholeSums) {
      const u64 v = column_operand(values, worker.memory.ones() - values);
      multiply_pv_and_ones(worker.out_sums(), weights, v + step * (kRowStep - (kRowStep << 16)));
    } else {
      const u64 v = column_operand(values, BLOCK_N * 128);
      multiply_pv(worker.out_sums(), weights, v + step * kRowStep);
    }
  }
};
