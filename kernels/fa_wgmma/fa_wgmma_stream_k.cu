// fa_wgmma_stream_k.cu: Computes attention on Hopper in whole waves. The work tiles that are left
// over are split along the keys (Stream-K's tail), and a second launch combines their partial O.
//
// fa_wgmma's CTAs, a work tile each, end in a wave that fills few multiprocessors: of 4.4 waves the
// device pays for 5. Here the first WHOLE_TILES tiles fill whole waves, and NUM_SPLITS CTAs share
// each of the others. notes.md, "The last wave", has the arithmetic.
#include "fa_wgmma/stream_k_config.cuh"
#include "common/combine_partial.cuh"
#include "fa_wgmma/consumer.cuh"
#include "fa_wgmma/epilogue.cuh"
#include "fa_wgmma/output_rows.cuh"
#include "fa_wgmma/producer.cuh"

/// O of a CTA's share of the KV blocks, not yet divided, and its row statistics.
DEVICE void write_partial(Consumer& consumer, float* partial, float2* stats) {
  const int item = static_cast<int>(blockIdx.x) - kWholeTiles;
  const i64 first_row = i64{item / NUM_SPLITS} * BLOCK_M + consumer.warp_row + consumer.lane / 4;
  float row_sum[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) row_sum[half] = warp_sum<4>(consumer.state.row_sum[0][half]);
  consumer.wait_pv();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i64 place = (first_row + 8 * half) * NUM_SPLITS + item % NUM_SPLITS;
    if (consumer.lane % 4 == 0)
      stats[place] = make_float2(consumer.state.row_max[0][half], row_sum[half]);
    float* const to = partial + place * VALUE_DIM + consumer.lane % 4 * 2;
#pragma unroll
    for (int d = 0; d < kDTiles; ++d) {
      const float* const o = consumer.state.acc_o[0][d] + 2 * half;
      *reinterpret_cast<float2*>(to + 8 * d) = make_float2(o[0], o[1]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kLaunchThreads, MIN_CTAS)
    fa_wgmma_stream_k(elem* __restrict__ out, float* __restrict__ lse, float* __restrict__ partial,
                      float2* __restrict__ stats, const __grid_constant__ TensorMap map_q,
                      const __grid_constant__ TensorMap map_k,
                      const __grid_constant__ TensorMap map_v,
                      const __grid_constant__ TensorMap map_out MODIFIER_PARAMETERS) {
  extern __shared__ __align__(1024) u8 shared[];
  const SharedStorage storage{shared_address(shared)};
  const Producer producer{storage, map_q, map_k, map_v};
  const int first = static_cast<int>(blockIdx.x);
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  producer.prologue(work_tile_at(first));
  __syncthreads();
  if (warpgroup == kConsumers) {
    if constexpr (kReallocRegisters) warpgroup_reg_dealloc<PRODUCER_REGISTERS>();
    if (threadIdx.x == kThreads - 32) producer.load(first);
    return;
  }
  if constexpr (kReallocRegisters) warpgroup_reg_alloc<CONSUMER_REGISTERS>();
  Consumer consumer(storage, warpgroup);
#if MODIFIED
  consumer.modifiers = {MODIFIERS};
#endif
  const OutputRows rows{storage, map_out, out, consumer};
  const Epilogue<1, OutputRows> epilogue{consumer, storage, rows, lse};
  consumer.mainloop(work_tile_at(first), true, 0);
  if (first >= kWholeTiles) return write_partial(consumer, partial, stats);
  epilogue();
  if (kStoreTma) tma_store_wait();
}

// ---- the second launch ----

extern "C" __global__ void __launch_bounds__(kCombineThreads)
    fa_wgmma_stream_k_combine(const float* partial, const float2* stats, elem* out, float* lse) {
  const auto query_row = [](i64 row) -> i64 {
    const int index = kWholeTiles + static_cast<int>(row / BLOCK_M);
    const int position = index % kMBlocks * BLOCK_M + static_cast<int>(row % BLOCK_M);
    return position < SEQ_Q ? i64{index / kMBlocks} * SEQ_Q + position : -1;
  };
  constexpr i64 kTailRows = i64{TAIL_TILES} * BLOCK_M;
  combine_partial_rows<kTailRows, SEQ_Q % BLOCK_M != 0>(partial, stats, out, lse, query_row);
}
