// finish.cuh - finished sums of a warpgroup become rows of out: parts of the same rows joined,
// divided by the sum of weights, through shared memory in whole rows.
//
// Rows in shared memory lie as tensor copies lay them out: boxes of 64 columns, 128-byte swizzle.
#pragma once

#include "common/lse.cuh"
#include "common/row_join.cuh"
#include "fa_wgmma/worker.cuh"

constexpr int kOwnTiles = kDTiles / kParts;  // 8-column tiles that a part finishes

/// A warp's 16 rows of the output.
struct OutputRows {
  Memory memory;
  const TensorMap& map;
  elem* out;
  const Worker& worker;

  DEVICE int position() const { return worker.item.row + worker.warp_row % kPositions; }
  DEVICE int head() const { return worker.item.head + worker.warp_row / kPositions; }
  DEVICE int rows_left() const { return SEQ_Q - position(); }
  DEVICE elem* first() const { return out + query_offset(head()) + position() * i64{HEAD_DIM}; }

  /// Where a lane puts (stmatrix) column tile d of its row; lanes 16 to 31 address the tile after.
  DEVICE u32 place(int d) const {
    const int row = worker.warp_row + worker.lane % 16;
    const u32 base = memory.rows() + row * 128 + ((worker.lane / 16) ^ (row & 7)) * 16;
    return (base ^ (d % 8 * 16)) + d / 8 * (BLOCK_M * 128);
  }
  /// Before rows of the item before are overwritten.
  DEVICE void reuse() const {
    if (kPersistent && STORE == STORE_TENSOR) {
      if (worker.lane == 0) tensor_store_wait();
      __syncwarp();
    }
  }
  /// Writes kCount column tiles from the first one on, which are in shared memory.
  template <int kCount>
  DEVICE void store(int first_tile) const {
    if (STORE == STORE_TENSOR) return store_boxes<kCount>(first_tile);
    __syncwarp();
    elem* to = first();
    const int rows = rows_left();
#pragma unroll
    for (int i = 0; i < 16 * kCount; i += 32) {
      if (16 * kCount % 32 != 0 && i + worker.lane >= 16 * kCount) break;
      const int row = (i + worker.lane) / kCount;
      const int d = first_tile + (i + worker.lane) % kCount;
      const int in_block = worker.warp_row + row;
      const u32 from = memory.rows() + d / 8 * (BLOCK_M * 128) + in_block * 128 +
                       ((d % 8) ^ (in_block & 7)) * 16;
      const uint4 values = shared_uint4(from);
      if (SEQ_Q % kPositions == 0 || row < rows) {
        global_store(to + row * HEAD_DIM + d * 8, values);
      }
    }
  }

 private:
  /// A lane stores the warp's rows, box by box. Parts store whole boxes or none.
  template <int kCount>
  DEVICE void store_boxes(int first_tile) const {
    async_proxy_fence();
    __syncwarp();
    if (worker.lane == 0) {
#pragma unroll
      for (int d = 0; d < kCount; d += 8) {
        const int box = (first_tile + d) / 8;
        const u32 from = memory.rows() + box * (BLOCK_M * 128) + worker.warp_row * 128;
        tensor_store(map, {64 * box, position(), head() % HEADS, head() / HEADS}, from);
      }
      tensor_store_commit();
    }
    __syncwarp();
  }
};

/// By threads that compute nothing: takes part in the cluster's barriers of a join. A thread that
/// arrives and exits before the others arrive would count twice.
DEVICE void sit_through_join() {
  __syncwarp();
  cluster_wait();
  cluster_arrive();
  cluster_wait();
}

/// Ends an item. The last product with values is under way when it begins: what needs only the sums
/// of weights is done meanwhile. kAll: the number of parts.
template <int kAll>
struct Finish {
  Worker& worker;
  Memory memory;
  const OutputRows& rows;
  float* lse;

  DEVICE void operator()() const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float& sum = worker.state.sum[0][half];
      if (!kWholeSums) sum = warp_sum<4>(sum);
    }
    if constexpr (kAll == 1) {
      const float factor[2] = {inverse_or_zero(worker.state.sum[0][0]),
                               inverse_or_zero(worker.state.sum[0][1])};
      write_lse(worker.state.peak[0], worker.state.sum[0]);
      worker.wait_for_values();
      rows.reuse();
      write<kDTiles>(0, factor);
    } else {
      join();
    }
  }

 private:
  DEVICE int part() const { return cluster_rank() * KEY_PARTS + worker.part; }

  DEVICE void write_lse(const float (&peak)[2], const float (&sum)[2]) const {
#if LSE
    if (worker.lane % 4 != 0) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int position = worker.position() + 8 * half;
      const i64 row = static_cast<i64>(rows.head()) * SEQ_Q + position;
      if (position < SEQ_Q) lse[row] = log_sum_exp(peak[half], sum[half]);
    }
#else
    (void)peak, (void)sum;
#endif
  }

  DEVICE void packed_columns(u32 (&packed)[2], int d, const float (&factor)[2]) const {
    const float(&o)[4] = worker.state.out[0][d];
    packed[0] = pack2(o[0] * factor[0], o[1] * factor[0]);
    packed[1] = pack2(o[2] * factor[1], o[3] * factor[1]);
  }

  /// The first kCount column tiles in registers, scaled, to those of the output from first_tile on.
  template <int kCount>
  DEVICE void write(int first_tile, const float (&factor)[2]) const {
    u32 pairs[2][2];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      packed_columns(pairs[i % 2], i, factor);
      if (i % 2 == 1) {
        const u32 four[4] = {pairs[0][0], pairs[0][1], pairs[1][0], pairs[1][1]};
        stmatrix_x4(rows.place(first_tile + i - 1), four);
      } else if (i + 1 == kCount) {
        stmatrix_x2(rows.place(first_tile + i), pairs[0][0], pairs[0][1]);
      }
    }
    rows.store<kCount>(first_tile);
  }

  // ---- parts: each finishes kOwnTiles column tiles of the rows that they share ----

  /// Peak and sum of a row of the block, from a part; in a block's own shared memory.
  DEVICE u32 stat(int of_part, int row) const {
    return memory.stats() + (of_part * BLOCK_M + row) * 8;
  }
  /// This lane's elements of column tile i of those that a part of a block finishes, from the part
  /// whose number differs from the finisher's by the bits of `other`.
  DEVICE u32 piece(int finisher, int other, int i) const {
    const int warps = BLOCK_M / 16;
    const int warp = worker.warp_row / 16;
    const int place = ((finisher * (kAll - 1) + other - 1) * warps + warp) * kOwnTiles + i;
    return memory.pieces() + (place * 32 + worker.lane) * 16;
  }
  /// Into the shared memory of a block of the cluster, which for a block alone has a shorter way.
  template <typename T>
  DEVICE static void store_to(int rank, u32 address, T value) {
    if constexpr (CLUSTER > 1) {
      cluster_store(cluster_address(address, rank), value);
    } else {
      shared_store(address, value);
    }
  }
  DEVICE void sync_parts() const {
    if (CLUSTER > 1) {
      cluster_arrive();
      cluster_wait();
    } else {
      named_sync<kConsumerThreads>(8);
    }
  }

  DEVICE void publish_stats() const {
    if (worker.lane % 4 != 0) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const u32 here = stat(part(), worker.warp_row + worker.lane / 4 + 8 * half);
      const float2 value = make_float2(worker.state.peak[0][half], worker.state.sum[0][half]);
#pragma unroll
      for (int rank = 0; rank < CLUSTER; ++rank) store_to(rank, here, value);
    }
  }

  /// Brings the columns that this part finishes to the front, and those that part() ^ j does to j
  /// times kOwnTiles: conditional swaps, so that one piece of code serves all parts with sums in
  /// registers.
  DEVICE void order_columns() const {
#pragma unroll
    for (int bit = 1; bit < kAll; bit *= 2) {
      const bool swap = (part() & bit) != 0;
#pragma unroll
      for (int tile = 0; tile < kDTiles; ++tile) {
        const int with = tile ^ bit * kOwnTiles;
        if (tile / kOwnTiles & bit) continue;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& low = worker.state.out[0][tile][i];
          float& high = worker.state.out[0][with][i];
          const float kept = low;
          low = swap ? high : kept;
          high = swap ? kept : high;
        }
      }
    }
  }

  /// Hands the other parts what they finish.
  DEVICE void publish_pieces() const {
#pragma unroll
    for (int other = 1; other < kAll; ++other) {
      const int finisher = part() ^ other;
#pragma unroll
      for (int i = 0; i < kOwnTiles; ++i) {
        const float(&o)[4] = worker.state.out[0][other * kOwnTiles + i];
        store_to(finisher / KEY_PARTS, piece(finisher % KEY_PARTS, other, i),
                 make_float4(o[0], o[1], o[2], o[3]));
      }
    }
  }

  /// What each part's output counts for in this lane's rows, division by the sum of all included:
  /// weight[half][j] is that of part() ^ j.
  DEVICE void part_weights(float (&weight)[2][kAll]) const {
    float peaks[2];
    float sums[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = worker.warp_row + worker.lane / 4 + 8 * half;
      const RowJoin<kAll> join([&](int j) { return shared_float2(stat(part() ^ j, row)); });
      const float inverse = inverse_or_zero(join.sum);
#pragma unroll
      for (int j = 0; j < kAll; ++j) weight[half][j] = join.factor[j] * inverse;
      peaks[half] = join.peak;
      sums[half] = join.sum;
    }
    if (part() == 0) write_lse(peaks, sums);
  }

  DEVICE void add_pieces(const float (&weight)[2][kAll]) const {
#pragma unroll
    for (int i = 0; i < kOwnTiles; ++i) {
      float(&o)[4] = worker.state.out[0][i];
#pragma unroll
      for (int j = 0; j < 4; ++j) o[j] *= weight[j / 2][0];
#pragma unroll
      for (int other = 1; other < kAll; ++other) {
        const float4 theirs = shared_float4(piece(worker.part, other, i));
        o[0] += theirs.x * weight[0][other];
        o[1] += theirs.y * weight[0][other];
        o[2] += theirs.z * weight[1][other];
        o[3] += theirs.w * weight[1][other];
      }
    }
  }

  DEVICE void join() const {
    if (CLUSTER > 1) cluster_wait();  // all blocks run: their memory can be written
    publish_stats();
    worker.wait_for_values();
    order_columns();
    // Pieces overwrite K and V: everybody must be done with them.
    if (!Memory::kOwnPieces) sync_parts();
    publish_pieces();
    float weight[2][kAll];
    if (!Memory::kOwnPieces) part_weights(weight);
    sync_parts();
    if (Memory::kOwnPieces) part_weights(weight);
    add_pieces(weight);
    const float one[2] = {1.0f, 1.0f};
    write<kOwnTiles>(part() * kOwnTiles, one);
  }
};
