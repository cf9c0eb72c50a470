// combine_partial.cuh: Combines the partial O of NUM_SPLITS splits in global memory to rows of out
// and lse. It is a launch of its own, behind the one that wrote them.
//
// partial is fp32 (rows, NUM_SPLITS, VALUE_DIM), not yet divided; stats is (rows, NUM_SPLITS) pairs
// of row_max and row_sum. A CTA has COMBINE_ROWS rows.
#pragma once

#include "common/combine.cuh"
#include "common/launch.cuh"
#include "common/lse.cuh"
#include "common/out_elem.cuh"
#include "common/problem.cuh"

constexpr int kQuads = VALUE_DIM / 4;  // threads that share a row, four columns each
constexpr int kCombineThreads = COMBINE_ROWS * COMBINE_THREADS * kQuads;

constexpr int kBatch = min_of(8, ceil_div(NUM_SPLITS, COMBINE_THREADS));  // partial O at a time
constexpr bool kWholeBatches = NUM_SPLITS % (kBatch * COMBINE_THREADS) == 0;

// Volatile loads, all issued before the first is waited for: the compiler would wait for each in
// turn.
DEVICE float4 load_now(const float4* from) {
  float4 value;
  asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "l"(from));
  return value;
}
DEVICE float2 load_now(const float2* from) {
  float2 value;
  asm volatile("ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];"
               : "=f"(value.x), "=f"(value.y)
               : "l"(from));
  return value;
}

/// Some of a row's partial O, combined: four columns, row_max and row_sum.
struct Share {
  float4 out;
  float2 stat;

  DEVICE void scale(float factor) {
    out.x *= factor, out.y *= factor, out.z *= factor, out.w *= factor;
  }
  DEVICE void add(const float4& columns, float factor) {
    out.x += columns.x * factor, out.y += columns.y * factor;
    out.z += columns.z * factor, out.w += columns.w * factor;
  }
};

static_assert((COMBINE_THREADS > 1 ? kCombineThreads * sizeof(Share) : 0) == COMBINE_SHARED_BYTES,
              "the second launch asks for a share of each thread");

/// Combines every COMBINE_THREADS-th partial O of a row, from `thread_of_row` on.
DEVICE Share add_splits(const float4* out, const float2* stats, int thread_of_row) {
  Share share{make_float4(0.0f, 0.0f, 0.0f, 0.0f), make_float2(NEG_INF, 0.0f)};
#pragma unroll 1
  for (int first = thread_of_row; first < NUM_SPLITS; first += kBatch * COMBINE_THREADS) {
    float4 columns[kBatch];
    float2 stat[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int split = first + i * COMBINE_THREADS;
      columns[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      stat[i] = make_float2(NEG_INF, 0.0f);
      if (kWholeBatches || split < NUM_SPLITS) {
        columns[i] = load_now(out + split * kQuads);
        stat[i] = load_now(stats + split);
      }
    }
    const RowCombine<kBatch + 1> combine([&](int i) { return i == 0 ? share.stat : stat[i - 1]; });
    share.scale(combine.factor[0]);
#pragma unroll
    for (int i = 0; i < kBatch; ++i) share.add(columns[i], combine.factor[i + 1]);
    share.stat = make_float2(combine.row_max, combine.row_sum);
  }
  return share;
}

/// By all threads of the launch. `query_row(row)` is the row's number in out, counted over batch
/// and heads; with kGaps it may be negative: it is none.
template <i64 kAllRows, bool kGaps, typename QueryRow>
DEVICE void combine_partial_rows(const float* partial, const float2* stats, out_elem* out,
                                 float* lse, const QueryRow& query_row) {
  extern __shared__ __align__(128) u8 shared[];
  Share* const shares = reinterpret_cast<Share*>(shared);
  const int thread = static_cast<int>(threadIdx.x);
  const int quad = thread % kQuads;
  const int thread_of_row = thread / kQuads % COMBINE_THREADS;
  const i64 row = i64{blockIdx.x} * COMBINE_ROWS + thread / (kQuads * COMBINE_THREADS);
  const bool inside = kAllRows % COMBINE_ROWS == 0 || row < kAllRows;

  Share share{};
  grid_dependency_wait();
  if (inside) {
    const float4* const quads = reinterpret_cast<const float4*>(partial);
    share = add_splits(quads + (row * NUM_SPLITS * kQuads + quad), stats + row * NUM_SPLITS,
                       thread_of_row);
  }
  if constexpr (COMBINE_THREADS > 1) {
    shares[thread] = share;
    __syncthreads();
  }
  if (!inside || thread_of_row != 0) return;
  const i64 to = query_row(row);
  if (kGaps && to < 0) return;
  const RowCombine<COMBINE_THREADS> combine(
      [&](int other) { return other == 0 ? share.stat : shares[thread + other * kQuads].stat; });
  share.scale(combine.factor[0]);
#pragma unroll
  for (int other = 1; other < COMBINE_THREADS; ++other)
    share.add(shares[thread + other * kQuads].out, combine.factor[other]);
  if (LSE != 0 && quad == 0) lse[to] = log_sum_exp(combine.row_max, combine.row_sum);
  share.scale(inverse_or_zero(combine.row_sum));
  *reinterpret_cast<uint2*>(out + OutTensor::row(to) + quad * 4) =
      make_uint2(pack2_out(share.out.x, share.out.y), pack2_out(share.out.z, share.out.w));
}
