// wgmma_epilogue.cuh - finished sums of a block's warpgroups become rows of out: by stmatrix into
// boxes of 64 columns as tensor copies lay them out, from there 16 bytes a store.
//
// Warpgroups may form kParts parts that saw different keys of the same rows: the parts of 64 rows
// join first, each finishing its share of the columns.
#pragma once

#include "common/mma_epilogue.cuh"
#include "common/tma.cuh"

/// Rows of HEAD_DIM columns in swizzled boxes: what a tile of queries was.
template <int kBlockM>
struct BoxedRows {
  static constexpr int kBoxBytes = kBlockM * 128;
  u8* memory;

  DEVICE const uint4& chunk(int row, int chunk) const {
    const int place = row * 128 + ((chunk % 8) ^ (row & 7)) * 16;
    return *reinterpret_cast<const uint4*>(memory + chunk / 8 * kBoxBytes + place);
  }

  /// This lane's stmatrix address in a warp's 16 rows: lanes 16 to 31 address the chunk after that
  /// of the others. Chunk d (even, or one by itself) is then an exclusive or away: see `at`.
  DEVICE u32 lane_base(const Place& place) const {
    const int row = place.first_row + place.lane % 16;
    return shared_address(memory) + row * 128 + ((place.lane / 16) ^ (row & 7)) * 16;
  }
  DEVICE static u32 at(u32 lane_base, int d) {
    return (lane_base ^ (d % 8 * 16)) + d / 8 * kBoxBytes;
  }
};

/// 8 columns of this lane's two rows, scaled: two registers of packed pairs.
template <int kD>
DEVICE void scale_columns(u32 (&packed)[2], const State<1, kD>& state, const float (&factor)[2],
                          int d) {
  const float(&o)[4] = state.out[0][d];
  packed[0] = pack2(o[0] * factor[0], o[1] * factor[0]);
  packed[1] = pack2(o[2] * factor[1], o[3] * factor[1]);
}

/// Writes kRows rows to out; `worker` is one of kWorkers threads that share them.
template <int kRows, int kWorkers, int kBlockM>
DEVICE void store_boxed(elem* out, const BoxedRows<kBlockM>& rows, int first_row, int rows_left,
                        int worker) {
#pragma unroll
  for (int item = 0; item < kRows * kChunks; item += kWorkers) {
    if (kRows * kChunks % kWorkers != 0 && item + worker >= kRows * kChunks) break;
    const int row = first_row + (item + worker) / kChunks;
    const int chunk = (item + worker) % kChunks;
    const uint4 values = rows.chunk(row, chunk);
    if (SEQ_Q % kBlockM == 0 || row < rows_left) {
      *reinterpret_cast<uint4*>(out + row * HEAD_DIM + chunk * 8) = values;
    }
  }
}

/// Joins the outputs of 64 rows' parts; part d % kParts finishes column tile d and leaves it in
/// `rows`. `barrier` and the next kBlockM / 64 are free for use.
template <int kBlockM, int kParts, int kD>
DEVICE void join_parts(const BoxedRows<kBlockM>& rows, const Exchange<kBlockM, kParts>& exchange,
                       State<1, kD>& state, const Place& place, int barrier) {
  const int row_barrier = barrier + 1 + place.first_row / 64;
  named_sync<kBlockM * 2 * kParts>(barrier);  // all are done with what the exchange overwrites
  publish(exchange, state, place);
  named_sync<128 * kParts>(row_barrier);
  float weight[2][kParts];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    group_weights(weight[half], exchange, place.group, place.row(0, half));
  }
  const u32 lane_base = rows.lane_base(place);
  const float one[2] = {1.0f, 1.0f};
#pragma unroll
  for (int d = 0; d < kD; ++d) {
    if (d % kParts != place.group) continue;
    float(&o)[4] = state.out[0][d];
#pragma unroll
    for (int i = 0; i < 4; ++i) o[i] *= weight[i / 2][0];
#pragma unroll
    for (int distance = 1; distance < kParts; ++distance) {
      const float4 other = exchange.piece(place, distance, 0, d);
      o[0] += other.x * weight[0][distance];
      o[1] += other.y * weight[0][distance];
      o[2] += other.z * weight[1][distance];
      o[3] += other.w * weight[1][distance];
    }
    u32 packed[2];
    scale_columns(packed, state, one, d);
    stmatrix_x2(rows.at(lane_base, d), packed[0], packed[1]);
  }
  named_sync<128 * kParts>(row_barrier);
}

/// Divides by the sums and writes the block's rows. `rows` takes the finished rows: those of a warp
/// are touched by no other while kParts is 1. `spare` takes the exchange of more parts.
template <int kBlockM, int kParts, int kD>
DEVICE void finish_boxed(elem* out, u8* rows_memory, u8* spare, State<1, kD>& state,
                         const Place& place, int barrier) {
  const BoxedRows<kBlockM> rows{rows_memory};
  const int rows_left = SEQ_Q - place.block_row;
#pragma unroll
  for (int half = 0; half < 2; ++half) state.sum[0][half] = warp_sum<4>(state.sum[0][half]);
  if constexpr (kParts > 1) {
    join_parts(rows, Exchange<kBlockM, kParts>{spare}, state, place, barrier);
    const int worker = place.group * 128 + place.first_row % 64 / 16 * 32 + place.lane;
    store_boxed<64, 128 * kParts>(out, rows, place.first_row / 64 * 64, rows_left, worker);
  } else {
    const float factor[2] = {inverse_or_zero(state.sum[0][0]), inverse_or_zero(state.sum[0][1])};
    const u32 lane_base = rows.lane_base(place);
#pragma unroll
    for (int d = 0; d < kD; d += 2) {
      u32 left[2];
      u32 right[2];
      scale_columns(left, state, factor, d);
      scale_columns(right, state, factor, d + 1);
      stmatrix_x4(rows.at(lane_base, d), left[0], left[1], right[0], right[1]);
    }
    __syncwarp();
    store_boxed<16, 32>(out, rows, place.first_row, rows_left, place.lane);
  }
}
