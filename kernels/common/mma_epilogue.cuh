// mma_epilogue.cuh - finished accumulators of a block's warps become rows of out, 16 bytes a store.
//
// Warps may form kGroups groups that saw different keys of the same rows: their outputs are joined
// first. A lane has the same elements in every group, so they are exchanged lane by lane as float4,
// without bank conflicts.
#pragma once

#include "common/lse.cuh"
#include "common/mma_softmax.cuh"
#include "common/packed_rows.cuh"
#include "common/row_join.cuh"
#include "common/swizzled_tile.cuh"

/// The place of a warp in its block and of a lane in its warp.
struct Place {
  int lane;
  int group;      // which share of a tile's keys
  int first_row;  // of the warp, within the block
  int block_row;  // of the block, within the head, or the packed head
  int head;       // of the block, counted over the batch

  /// Row within the block of this lane's elements.
  DEVICE int row(int m, int half) const { return first_row + 16 * m + 8 * half + lane / 4; }
};

/// Packs this lane's part of column tile d, scaled, into rows kept in shared memory.
template <int kM, int kD>
DEVICE void stage_columns(u8* rows, const State<kM, kD>& state, const float (&factor)[kM][2],
                          const Place& place, int d) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float(&o)[4] = state.out[m][d];
      const u32 pair = pack2(o[2 * half] * factor[m][half], o[2 * half + 1] * factor[m][half]);
      *reinterpret_cast<u32*>(rows + chunk_offset(place.row(m, half), d) + place.lane % 4 * 4) =
          pair;
    }
  }
}

/// Writes kRows rows from shared memory to out, the first row in memory of the block's head;
/// `worker` is one of kWorkers threads that share them.
template <int kRows, int kWorkers, int kPack>
DEVICE void store_rows(elem* out, const u8* rows, int first_row, const Place& place, int worker) {
  const int rows_left = PackedRows<kPack>::kRows - place.block_row;
#pragma unroll
  for (int item = 0; item < kRows * kChunks; item += kWorkers) {
    if (kRows * kChunks % kWorkers != 0 && item + worker >= kRows * kChunks) break;
    const int row = first_row + (item + worker) / kChunks;
    const int chunk = (item + worker) % kChunks;
    const uint4 values = *reinterpret_cast<const uint4*>(rows + chunk_offset(row, chunk));
    const i64 at = PackedRows<kPack>::place(place.block_row + row);
    if (row < rows_left) *reinterpret_cast<uint4*>(out + (at * HEAD_DIM + chunk * 8)) = values;
  }
}

/// Shared memory of a join: what groups hand each other, then each group's peak and sum of every
/// row.
template <int kBlockM, int kGroups>
struct Exchange {
  static constexpr int kPiecesBytes = (kGroups - 1) * kBlockM * HEAD_DIM * 4;
  static constexpr int kStatsBytes = kGroups * kBlockM * 8;
  u8* memory;

  DEVICE float2& stats(int group, int row) const {
    return reinterpret_cast<float2*>(memory + kPiecesBytes)[group * kBlockM + row];
  }
  /// How a row's outputs of all groups add up, from `first` on in turn.
  DEVICE RowJoin<kGroups> join(int first, int row) const {
    return RowJoin<kGroups>([&](int i) { return stats((first + i) % kGroups, row); });
  }
  /// This lane's part of column tile d from the group `distance` after the one that finishes d.
  DEVICE float4& piece(const Place& place, int distance, int m, int d) const {
    const int tile =
        ((distance - 1) * (kBlockM / 16) + place.first_row / 16 + m) * (HEAD_DIM / 8) + d;
    return reinterpret_cast<float4*>(memory)[tile * 32 + place.lane];
  }
};

/// Hands out a group's peaks and sums, and its part of the columns that another group finishes.
template <int kBlockM, int kGroups, int kM, int kD>
DEVICE void publish(const Exchange<kBlockM, kGroups>& exchange, const State<kM, kD>& state,
                    const Place& place) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 stat = make_float2(state.peak[m][half], state.sum[m][half]);
      if (place.lane % 4 == 0) exchange.stats(place.group, place.row(m, half)) = stat;
    }
#pragma unroll
    for (int d = 0; d < kD; ++d) {
      const int distance = (place.group - d % kGroups + kGroups) % kGroups;
      const float(&o)[4] = state.out[m][d];
      if (distance != 0)
        exchange.piece(place, distance, m, d) = make_float4(o[0], o[1], o[2], o[3]);
    }
  }
}

/// Joins the groups' outputs; group d % kGroups finishes column tile d and leaves it in `rows`.
template <int kBlockM, int kGroups, int kM, int kD>
DEVICE void join_groups(u8* rows, const Exchange<kBlockM, kGroups>& exchange, State<kM, kD>& state,
                        const Place& place) {
  __syncthreads();  // every warp is done with K and V, whose place the exchange takes
  publish(exchange, state, place);
  __syncthreads();
  float weight[kM][2][kGroups];
  float one[kM][2];
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const RowJoin<kGroups> join = exchange.join(place.group, place.row(m, half));
      const float inverse = inverse_or_zero(join.sum);
#pragma unroll
      for (int i = 0; i < kGroups; ++i) weight[m][half][i] = join.factor[i] * inverse;
      one[m][half] = 1.0f;
    }
  }
#pragma unroll
  for (int d = 0; d < kD; ++d) {
    if (d % kGroups != place.group) continue;
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      float(&o)[4] = state.out[m][d];
#pragma unroll
      for (int i = 0; i < 4; ++i) o[i] *= weight[m][i / 2][0];
#pragma unroll
      for (int distance = 1; distance < kGroups; ++distance) {
        const float4 other = exchange.piece(place, distance, m, d);
        o[0] += other.x * weight[m][0][distance];
        o[1] += other.y * weight[m][0][distance];
        o[2] += other.z * weight[m][1][distance];
        o[3] += other.w * weight[m][1][distance];
      }
    }
    stage_columns(rows, state, one, place, d);
  }
  __syncthreads();
}

/// Divides by the sums and writes the block's rows; `out` is the first of its head in memory.
/// `rows` takes the finished rows (Q's place: a warp's own rows are touched by no other while
/// kGroups is 1), `spare` the exchange of more groups.
template <int kBlockM, int kGroups, int kThreads, int kPack = 1, int kM, int kD>
DEVICE void finish(elem* out, u8* rows, u8* spare, State<kM, kD>& state, const Place& place) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) state.sum[m][half] = warp_sum<4>(state.sum[m][half]);
  }
  if constexpr (kGroups > 1) {
    join_groups(rows, Exchange<kBlockM, kGroups>{spare}, state, place);
    store_rows<kBlockM, kThreads, kPack>(out, rows, 0, place, static_cast<int>(threadIdx.x));
  } else {
    float factor[kM][2];
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) factor[m][half] = inverse_or_zero(state.sum[m][half]);
    }
#pragma unroll
    for (int d = 0; d < kD; ++d) stage_columns(rows, state, factor, place, d);
    __syncwarp();
    store_rows<16 * kM, 32, kPack>(out, rows, place.first_row, place, place.lane);
  }
}

/// After the block's output is finished: its rows' log-sum-exp. `lse` is that of the first row in
/// memory of its head, `spare` the memory of the exchange.
template <int kBlockM, int kGroups, int kPack = 1, int kM, int kD>
DEVICE void store_lse(float* lse, u8* spare, const State<kM, kD>& state, const Place& place) {
  if (place.group != 0 || place.lane % 4 != 0) return;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float2 stats = make_float2(state.peak[m][half], state.sum[m][half]);
      const int row = place.row(m, half);
      if constexpr (kGroups > 1) {
        const auto join = Exchange<kBlockM, kGroups>{spare}.join(place.group, row);
        stats = make_float2(join.peak, join.sum);
      }
      if (place.block_row + row >= PackedRows<kPack>::kRows) continue;
      lse[PackedRows<kPack>::place(place.block_row + row)] = log_sum_exp(stats.x, stats.y);
    }
  }
}
