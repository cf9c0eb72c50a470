// mma_epilogue.cuh: Writes the accumulators of O of a CTA's warps to rows of out, 16 bytes a store;
// of fp8 problems 8 bytes, from registers.
//
// kSplits groups of warps may have seen different keys of the same rows (intra-CTA split-KV): their
// partial O is combined first. A lane has the same elements in every group, so they are exchanged
// lane by lane as float4, without bank conflicts.
#pragma once

#include "common/lse.cuh"
#include "common/mma_softmax.cuh"
#include "common/packed_rows.cuh"
#include "common/combine.cuh"
#include "common/swizzled_tile.cuh"

/// The place of a warp in its CTA and of a lane in its warp.
struct Place {
  int lane;
  int split;      // which share of a KV block's keys
  int first_row;  // of the warp, within the CTA
  int block_row;  // of the CTA, within the head, or the packed head
  int head;       // of the CTA, counted over the batch

  /// Row within the CTA of this lane's elements.
  DEVICE int row(int m, int half) const { return first_row + 16 * m + 8 * half + lane / 4; }
};

/// Column tiles that a lane writes together: of fp8 two, of which transposing V has given it four
/// neighbouring columns (transpose_octets in ldmatrix.cuh).
constexpr int kTilesTogether = kIs16Bit ? 1 : 2;

/// The split that finishes a column tile.
template <int kSplits>
DEVICE constexpr int finisher(int d) {
  return d / kTilesTogether % kSplits;
}

/// Writes this lane's part of column tiles d and d + 1 of an fp8 problem, scaled, to rows of the
/// CTA's head, which begins at `out`.
template <int kPack, int kM, int kD>
DEVICE void store_columns(out_elem* out, const State<kM, kD>& state, const float (&factor)[kM][2],
                          const Place& place, int d) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = place.block_row + place.row(m, half);
      if (row >= PackedRows<kPack>::kRows) continue;
      const float* const even = state.acc_o[m][d] + 2 * half;
      const float* const odd = state.acc_o[m][d + 1] + 2 * half;
      const float by = factor[m][half];
      const i64 at = PackedRows<kPack>::template offset<OutTensor>(row) + 8 * d;
      *reinterpret_cast<uint2*>(out + (at + place.lane % 4 * 4)) =
          make_uint2(pack2_out(even[0] * by, odd[0] * by), pack2_out(even[1] * by, odd[1] * by));
    }
  }
}

/// Packs this lane's part of column tile d, scaled, into rows kept in shared memory.
template <int kM, int kD>
DEVICE void stage_columns(u8* rows, const State<kM, kD>& state, const float (&factor)[kM][2],
                          const Place& place, int d) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float(&o)[4] = state.acc_o[m][d];
      const u32 pair = pack2_out(o[2 * half] * factor[m][half], o[2 * half + 1] * factor[m][half]);
      *reinterpret_cast<u32*>(rows + ValueRows::chunk_offset(place.row(m, half), d) + place.lane % 4 * 4) =
          pair;
    }
  }
}

/// Writes kRows rows from shared memory to those of the CTA's head, which begins at `out`; `worker`
/// is one of kWorkers threads that share them.
template <int kRows, int kWorkers, int kPack>
DEVICE void store_rows(out_elem* out, const u8* rows, int first_row, const Place& place,
                       int worker) {
  constexpr int kFullChunks = ValueRows::kFullChunks;
  const int rows_left = PackedRows<kPack>::kRows - place.block_row;
#pragma unroll
  for (int item = 0; item < kRows * kFullChunks; item += kWorkers) {
    if (kRows * kFullChunks % kWorkers != 0 && item + worker >= kRows * kFullChunks) break;
    const int row = first_row + (item + worker) / kFullChunks;
    const int chunk = (item + worker) % kFullChunks;
    const uint4 values = *reinterpret_cast<const uint4*>(rows + ValueRows::chunk_offset(row, chunk));
    const i64 at = PackedRows<kPack>::template offset<OutTensor>(place.block_row + row);
    if (row < rows_left) *reinterpret_cast<uint4*>(out + (at + chunk * 8)) = values;
  }
}

/// Shared memory of a combine: partial O of the splits, then row_max and row_sum of every row of
/// each.
template <int kBlockM, int kSplits>
struct Exchange {
  static constexpr int kPartialOBytes = (kSplits - 1) * kBlockM * VALUE_DIM * 4;
  static constexpr int kStatsBytes = kSplits * kBlockM * 8;
  static constexpr int kBytes = kPartialOBytes + kStatsBytes;
  u8* memory;

  DEVICE float2& stats(int split, int row) const {
    return reinterpret_cast<float2*>(memory + kPartialOBytes)[split * kBlockM + row];
  }
  /// How a row's partial O of all splits adds up, from split `first` on in turn.
  DEVICE RowCombine<kSplits> combine(int first, int row) const {
    return RowCombine<kSplits>([&](int i) { return stats((first + i) % kSplits, row); });
  }
  /// This lane's part of column tile d from the split `distance` after the one that finishes d.
  DEVICE float4& partial_o(const Place& place, int distance, int m, int d) const {
    const int tile =
        ((distance - 1) * (kBlockM / 16) + place.first_row / 16 + m) * (VALUE_DIM / 8) + d;
    return reinterpret_cast<float4*>(memory)[tile * 32 + place.lane];
  }
};

/// Publishes a split's row_max and row_sum, and its partial O of the columns that another finishes.
template <int kBlockM, int kSplits, int kM, int kD>
DEVICE void publish(const Exchange<kBlockM, kSplits>& exchange, const State<kM, kD>& state,
                    const Place& place) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 stat = make_float2(state.row_max[m][half], state.row_sum[m][half]);
      if (place.lane % 4 == 0) exchange.stats(place.split, place.row(m, half)) = stat;
    }
#pragma unroll
    for (int d = 0; d < kD; ++d) {
      const int distance = (place.split - finisher<kSplits>(d) + kSplits) % kSplits;
      const float(&o)[4] = state.acc_o[m][d];
      if (distance != 0)
        exchange.partial_o(place, distance, m, d) = make_float4(o[0], o[1], o[2], o[3]);
    }
  }
}

/// Combines the splits' partial O; a column tile's finisher leaves it in `rows`, or of an fp8
/// problem in `out`.
template <int kBlockM, int kSplits, int kPack, int kM, int kD>
DEVICE void combine_splits(out_elem* out, u8* rows, const Exchange<kBlockM, kSplits>& exchange,
                           State<kM, kD>& state, const Place& place) {
  __syncthreads();  // every warp is done with K and V, whose place the exchange takes
  publish(exchange, state, place);
  __syncthreads();
  float factor[kM][2][kSplits];
  float one[kM][2];
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const RowCombine<kSplits> combine = exchange.combine(place.split, place.row(m, half));
      const float inverse = inverse_or_zero(combine.row_sum);
#pragma unroll
      for (int i = 0; i < kSplits; ++i) factor[m][half][i] = combine.factor[i] * inverse;
      one[m][half] = 1.0f;
    }
  }
#pragma unroll
  for (int d = 0; d < kD; ++d) {
    if (finisher<kSplits>(d) != place.split) continue;
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      float(&o)[4] = state.acc_o[m][d];
#pragma unroll
      for (int i = 0; i < 4; ++i) o[i] *= factor[m][i / 2][0];
#pragma unroll
      for (int distance = 1; distance < kSplits; ++distance) {
        const float4 other = exchange.partial_o(place, distance, m, d);
        o[0] += other.x * factor[m][0][distance];
        o[1] += other.y * factor[m][0][distance];
        o[2] += other.z * factor[m][1][distance];
        o[3] += other.w * factor[m][1][distance];
      }
    }
    if (kIs16Bit) stage_columns(rows, state, one, place, d);
    if (!kIs16Bit && d % 2 == 1) store_columns<kPack>(out, state, one, place, d - 1);
  }
  if (kIs16Bit) __syncthreads();
}

/// Divides by row_sum and writes the CTA's rows; `out` is the first of its head in memory. `rows`
/// takes the finished rows (Q's place: a warp's own rows are touched by no other while kSplits is
/// 1, if they are as wide as those of Q), `spare` the exchange of more splits.
template <int kBlockM, int kSplits, int kThreads, int kPack = 1, int kM, int kD>
DEVICE void store_o(out_elem* out, u8* rows, u8* spare, State<kM, kD>& state, const Place& place) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      state.row_sum[m][half] = warp_sum<4>(state.row_sum[m][half]);
    }
  }
  if constexpr (kSplits > 1) {
    combine_splits<kBlockM, kSplits, kPack>(out, rows, {spare}, state, place);
    if (!kIs16Bit) return;
    store_rows<kBlockM, kThreads, kPack>(out, rows, 0, place, static_cast<int>(threadIdx.x));
  } else {
    float factor[kM][2];
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        factor[m][half] = inverse_or_zero(state.row_sum[m][half]);
      }
    }
    if (kValueRowBytes != kRowBytes) __syncthreads();  // else these rows are Q of other warps
#pragma unroll
    for (int d = 0; d < kD; d += kTilesTogether) {
      if (kIs16Bit) stage_columns(rows, state, factor, place, d);
      if (!kIs16Bit) store_columns<kPack>(out, state, factor, place, d);
    }
    if (!kIs16Bit) return;
    __syncwarp();
    store_rows<16 * kM, 32, kPack>(out, rows, place.first_row, place, place.lane);
  }
}

/// After store_o: the log-sum-exp of the CTA's rows. `lse` is that of the first row in memory of
/// its head, `spare` the memory of the exchange.
template <int kBlockM, int kSplits, int kPack = 1, int kM, int kD>
DEVICE void store_lse(float* lse, u8* spare, const State<kM, kD>& state, const Place& place) {
  if (place.split != 0 || place.lane % 4 != 0) return;
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float2 stats = make_float2(state.row_max[m][half], state.row_sum[m][half]);
      const int row = place.row(m, half);
      if constexpr (kSplits > 1) {
        const auto combine = Exchange<kBlockM, kSplits>{spare}.combine(place.split, row);
        stats = make_float2(combine.row_max, combine.row_sum);
      }
      if (place.block_row + row >= PackedRows<kPack>::kRows) continue;
      lse[PackedRows<kPack>::place(place.block_row + row)] = log_sum_exp(stats.x, stats.y);
    }
  }
}
