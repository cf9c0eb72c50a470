// smooth_keys.cuh: Quantizes a head of K without its mean over rows.
#pragma once

#include "common/quantize_pieces.cuh"

/// By all threads of a cluster. A thread has the same 8 columns of all its rows.
struct SmoothKeys {
  using Pieces = RowPieces<KTensor, 1, SEQ_KV>;
  static constexpr int kInRow = Pieces::kInRow;
  static constexpr int kAtOnce = kKeepsElements ? Pieces::kRounds : kQuantBatch;
  static_assert(32 % kInRow == 0, "a warp has whole rows, 1, 2 or 4 of them");

  Pieces keys;
  GivenPiece pieces[kAtOnce];
  float mean[8];

  DEVICE explicit SmoothKeys(const Pieces& keys_) : keys(keys_) {}

  /// `factor`: of the head; `k_mean`: HEAD_DIM numbers; `of_warps`: as largest_of_cluster wants it.
  DEVICE void quantize(float* factor, float* k_mean, u32* of_warps) {
    find_mean();
    u32 most = 0;
    each_smooth([&](int, float (&x)[8]) {
#pragma unroll
      for (int i = 0; i < 8; ++i) most = max_of(most, __float_as_uint(fabsf(x[i])));
    });
    const float by = factor_of(__uint_as_float(largest_of_cluster(most, of_warps)));
    if (quant_rank() == 0 && threadIdx.x < kInRow) {
      if (threadIdx.x == 0) *factor = by;
#pragma unroll
      for (int i = 0; i < 8; ++i) k_mean[threadIdx.x * 8 + i] = mean[i];
    }
    const float inverse = 1.0f / by;
    each_smooth([&](int round, float (&x)[8]) {
#pragma unroll
      for (int i = 0; i < 8; ++i) x[i] *= inverse;
      *keys.place(round) = make_uint2(pack4_quantized(x[0], x[1], x[2], x[3]),
                                      pack4_quantized(x[4], x[5], x[6], x[7]));
    });
  }

 private:
  /// take(round, 8 elements without their mean) of every piece of the thread.
  template <typename Take>
  DEVICE void each_smooth(const Take& take) {
    each_piece([&](int round, float (&x)[8]) {
#pragma unroll
      for (int i = 0; i < 8; ++i) x[i] -= mean[i];
      if (Pieces::has(round)) take(round, x);
    });
  }

  /// take(round, 8 elements) of every piece, zeros beyond the last; they are loaded where they are
  /// not kept.
  template <typename Take>
  DEVICE void each_piece(const Take& take, bool first = false) {
#pragma unroll 1
    for (int round = 0; round < Pieces::kRounds; round += kAtOnce) {
      if (first || !kKeepsElements) {
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) keys.load(&pieces[i], round + i);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        float row[8];
        pieces[i].to_floats(row);
        take(round + i, row);
      }
    }
  }

  /// Sums in the same order every time: of a thread, a warp, a CTA, the cluster.
  DEVICE void find_mean() {
    __shared__ float of_warps[kQuantWarps * HEAD_DIM];
    __shared__ float of_ctas[QUANT_CLUSTER * HEAD_DIM];
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    float sums[8] = {};
    each_piece(
        [&](int, float (&row)[8]) {
#pragma unroll
          for (int i = 0; i < 8; ++i) sums[i] += row[i];
        },
        true);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int step = kInRow; step < 32; step *= 2)
        sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], step);
      if (lane < kInRow) of_warps[warp * HEAD_DIM + lane * 8 + i] = sums[i];
    }
    __syncthreads();
    if (QUANT_CLUSTER > 1) cluster_wait();  // all CTAs run: their shared memory can be written
    for (int d = static_cast<int>(threadIdx.x); d < HEAD_DIM; d += QUANT_THREADS) {
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < kQuantWarps; ++i) sum += of_warps[i * HEAD_DIM + d];
      send(of_ctas + quant_rank() * HEAD_DIM + d, sum);
    }
    if (QUANT_CLUSTER > 1) {
      cluster_arrive();
      cluster_wait();
    } else {
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      mean[i] = 0.0f;
#pragma unroll
      for (int cta = 0; cta < QUANT_CLUSTER; ++cta)
        mean[i] += of_ctas[cta * HEAD_DIM + threadIdx.x % kInRow * 8 + i];
      mean[i] *= 1.0f / SEQ_KV;
    }
    if (QUANT_CLUSTER > 1) cluster_arrive();  // for the wait of largest_of_cluster
  }

  /// To the same place in the shared memory of every CTA of the cluster.
  DEVICE static void send(float* place, float value) {
    if constexpr (QUANT_CLUSTER == 1) {
      *place = value;
    } else {
#pragma unroll
      for (int cta = 0; cta < QUANT_CLUSTER; ++cta) {
        asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(
                         cluster_address(shared_address(place), cta)),
                     "f"(value)
                     : "memory");
      }
    }
  }
};
