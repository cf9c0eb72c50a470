// epilogue.cuh: Turns a warpgroup's accumulator of O into rows of out and lse: combines the partial
// O of splits, and divides by row_sum.
#pragma once

#include "common/combine.cuh"
#include "common/key_mean.cuh"
#include "common/lse.cuh"
#include "fa_wgmma/consumer.cuh"

constexpr int kOwnTiles = kDTiles / kSplits;  // 8-column tiles that a split finishes

/// By the producer's threads: a thread that exits after it has arrived at the cluster's barrier and
/// before the others have would count twice.
DEVICE void wait_for_cluster_start() {
  __syncwarp();
  cluster_wait();
}

/// Ends a work tile. The last PV is in flight when it begins: what needs only row_sum is done
/// meanwhile. kAll: the number of splits.
/// Rows: what writes O (output_rows.cuh, register_rows.cuh).
template <int kAll, typename Rows>
struct Epilogue {
  Consumer& consumer;
  SharedStorage storage;
  const Rows& rows;
  float* lse;
  KeyMean key_mean = {};

  DEVICE void operator()() const {
    if constexpr (kRowSumInO) consumer.take_row_sum();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float& row_sum = consumer.state.row_sum[0][half];
      if (!kRowSumByMma) row_sum = warp_sum<4>(row_sum);
      consumer.state.row_max[0][half] *= consumer.state.row_max_unit();
      row_sum *= consumer.state.row_sum_unit();
    }
    if constexpr (kAll == 1) {
      const float factor[2] = {o_factor(consumer.state.row_sum[0][0]),
                               o_factor(consumer.state.row_sum[0][1])};
      write_lse(consumer.state.row_max[0], consumer.state.row_sum[0]);
      if constexpr (!kRowSumInO) consumer.wait_pv();
      consumer.release_last_v();
      rows.template write<kDTiles>(0, consumer.state.acc_o[0], factor);
    } else {
      combine();
    }
  }

 private:
  /// What O is multiplied by in the end.
  DEVICE float o_factor(float row_sum) const {
    return inverse_or_zero(row_sum) * (consumer.state.row_sum_unit() * consumer.v_descale);
  }
  DEVICE int split() const { return cluster_rank() * INTRA_CTA_SPLITS + consumer.split; }

  DEVICE void write_lse(const float (&row_max)[2], const float (&row_sum)[2]) const {
#if LSE
    if (consumer.lane % 4 != 0) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int position = consumer.position() + 8 * half;
      const i64 row = static_cast<i64>(rows.head()) * SEQ_Q + position;
      if (position >= SEQ_Q) continue;
      lse[row] = log_sum_exp(row_max[half], row_sum[half]);
#if SMOOTH_K
      lse[row] += key_mean.score(rows.head(), position);
#endif
    }
#else
    (void)row_max, (void)row_sum;
#endif
  }

  // ---- split-KV: each split finishes kOwnTiles column tiles of the rows that they share ----

  /// row_max and row_sum of a row of the CTA, of one split; in the CTA's own shared memory.
  DEVICE u32 stat(int of_split, int row) const {
    return storage.stats() + (of_split * BLOCK_M + row) * 8;
  }
  /// This lane's elements of column tile i of those that a split of the CTA finishes, from the
  /// split whose number differs from the finisher's by the bits of `other`.
  DEVICE u32 partial_o(int finisher, int other, int i) const {
    const int warps = BLOCK_M / 16;
    const int warp = consumer.warp_row / 16;
    const int place = ((finisher * (kAll - 1) + other - 1) * warps + warp) * kOwnTiles + i;
    return storage.partial_o() + (place * 32 + consumer.lane) * 16;
  }
  /// Into the shared memory of a CTA of the cluster; a CTA without a cluster has a shorter way.
  template <typename T>
  DEVICE void store_to(int rank, u32 address, T value) const {
    if constexpr (CLUSTER_SPLITS > 1) {
      cluster_store_async(cluster_address(address, rank), value,
                          cluster_address(storage.combine_full(), rank));
    } else {
      shared_store(address, value);
    }
  }
  /// What the other splits publish is here. A CTA of a cluster gets all of it, so none ends too
  /// soon.
  DEVICE void sync_splits() const {
    if (CLUSTER_SPLITS > 1) {
      mbarrier_wait(storage.combine_full(), 0);
    } else {
      named_barrier_sync<kConsumerThreads>(barrier_id(NamedBarrier::kCombine));
    }
  }

  DEVICE void publish_stats() const {
    if (consumer.lane % 4 != 0) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const u32 here = stat(split(), consumer.warp_row + consumer.lane / 4 + 8 * half);
      const float2 value =
          make_float2(consumer.state.row_max[0][half], consumer.state.row_sum[0][half]);
#pragma unroll
      for (int rank = 0; rank < CLUSTER_SPLITS; ++rank) store_to(rank, here, value);
    }
  }

  /// Brings the columns that this split finishes to the front, and those of split() ^ j to
  /// j * kOwnTiles. Conditional swaps: the code is the same for all splits, so that the accumulator
  /// stays in registers.
  DEVICE void order_columns() const {
#pragma unroll
    for (int bit = 1; bit < kAll; bit *= 2) {
      const bool swap = (split() & bit) != 0;
#pragma unroll
      for (int tile = 0; tile < kDTiles; ++tile) {
        if (tile / kOwnTiles & bit) continue;
        const int with = tile + bit * kOwnTiles;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& low = consumer.state.acc_o[0][tile][i];
          float& high = consumer.state.acc_o[0][with][i];
          const float kept = low;
          low = swap ? high : kept;
          high = swap ? kept : high;
        }
      }
    }
  }

  /// Hands the other splits what they finish.
  DEVICE void publish_partial_o() const {
#pragma unroll
    for (int other = 1; other < kAll; ++other) {
      const int finisher = split() ^ other;
#pragma unroll
      for (int i = 0; i < kOwnTiles; ++i) {
        const float(&o)[4] = consumer.state.acc_o[0][other * kOwnTiles + i];
        store_to(finisher / INTRA_CTA_SPLITS, partial_o(finisher % INTRA_CTA_SPLITS, other, i),
                 make_float4(o[0], o[1], o[2], o[3]));
      }
    }
  }

  /// What partial O of each split is multiplied by in this lane's rows, 1 / row_sum of all
  /// included: factor[half][j] is that of split() ^ j.
  DEVICE void split_factors(float (&factor)[2][kAll]) const {
    float row_max[2];
    float row_sum[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = consumer.warp_row + consumer.lane / 4 + 8 * half;
      const RowCombine<kAll> combine([&](int j) { return shared_float2(stat(split() ^ j, row)); });
      const float inverse = o_factor(combine.row_sum);
#pragma unroll
      for (int j = 0; j < kAll; ++j) factor[half][j] = combine.factor[j] * inverse;
      row_max[half] = combine.row_max;
      row_sum[half] = combine.row_sum;
    }
    if (split() == 0) write_lse(row_max, row_sum);
  }

  DEVICE void combine_partial_o(const float (&factor)[2][kAll]) const {
#pragma unroll
    for (int i = 0; i < kOwnTiles; ++i) {
      float(&o)[4] = consumer.state.acc_o[0][i];
#pragma unroll
      for (int j = 0; j < 4; ++j) o[j] *= factor[j / 2][0];
#pragma unroll
      for (int other = 1; other < kAll; ++other) {
        const float4 theirs = shared_float4(partial_o(consumer.split, other, i));
        o[0] += theirs.x * factor[0][other];
        o[1] += theirs.y * factor[0][other];
        o[2] += theirs.z * factor[1][other];
        o[3] += theirs.w * factor[1][other];
      }
    }
  }

  DEVICE void combine() const {
    if (CLUSTER_SPLITS > 1) cluster_wait();  // all CTAs have their barriers: they can be written to
    publish_stats();
    consumer.wait_pv();
    order_columns();
    // Partial O overwrites K and V: all consumers must be done with them.
    if (!SharedStorage::kOwnPartialO) sync_splits();
    publish_partial_o();
    float factor[2][kAll];
    if (!SharedStorage::kOwnPartialO) split_factors(factor);
    sync_splits();
    if (SharedStorage::kOwnPartialO) split_factors(factor);
    combine_partial_o(factor);
    const float one[2] = {1.0f, 1.0f};
    rows.template write<kOwnTiles>(split() * kOwnTiles, consumer.state.acc_o[0], one);
  }
};

/// By a consumer warpgroup: the CTA's work tiles, each with its epilogue.
template <typename Epilogue>
DEVICE void process_work_tiles(Consumer& consumer, const Epilogue& epilogue, int first) {
#if LENGTHS
  const i32* const lengths = consumer.modifiers.lengths;
#endif
  if constexpr (kPersistent) {
    u32 q_phase = 0;
#pragma unroll 1
    for (int index = first; has_work_tile(index); index += kCtas) {
      consumer.turns.last_tile = !has_work_tile(index + kCtas);
      consumer.mainloop(work_tile_at(index LENGTHS_ARGUMENT), index == first, q_phase);
      epilogue();
      consumer.end_work_tile();
      q_phase ^= 1;
    }
  } else {
    consumer.mainloop(work_tile_at(first LENGTHS_ARGUMENT), true, 0);
    epilogue();
  }
}
