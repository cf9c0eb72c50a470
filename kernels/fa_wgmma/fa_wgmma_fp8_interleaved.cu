// fa_wgmma_fp8_interleaved.cu: Computes attention of fp8 q, k and v on Hopper with QK^T, softmax
// and PV interleaved in steps of 32 keys. All of K, V and transposed V lie in shared memory.
//
// The mainloop of fa_wgmma_interleaved between fa_wgmma_fp8's producer warpgroup and its rows of O;
// notes.md, "FP8", says how P stays in the range of e4m3.
#include "fa_wgmma/fp8_interleaved_config.cuh"
#include "fa_wgmma/f16_mainloop.cuh"
#include "fa_wgmma/consumer.cuh"
#include "fa_wgmma/epilogue.cuh"
#include "fa_wgmma/producer.cuh"
#include "fa_wgmma/register_rows.cuh"
#include "fa_wgmma/v_transposer.cuh"

#if SCORES == SCORES_F16
using KvLoop = F16Mainloop;
#else
using KvLoop = InterleavedMainloop;
#endif

extern "C" __global__ void __launch_bounds__(kLaunchThreads, MIN_CTAS)
    fa_wgmma_fp8_interleaved(out_elem* __restrict__ out, float* __restrict__ lse,
                             const float* q_descale, const float* k_descale,
                             const float* v_descale, const __grid_constant__ TensorMap map_q,
                             const __grid_constant__ TensorMap map_k,
                             const __grid_constant__ TensorMap map_v) {
  extern __shared__ __align__(1024) u8 shared[];
  const SharedStorage storage{shared_address(shared)};
  const Producer producer{storage, map_q, map_k, map_v};
  const int first = static_cast<int>(blockIdx.x) / CLUSTER_SPLITS;
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  if (kRowSumByMma && !kEarlyV) write_ones(storage);
  producer.prologue(work_tile_at(first));
  __syncthreads();
  if (CLUSTER_SPLITS > 1) cluster_arrive_relaxed();
  launch_dependents();
  if (warpgroup == kConsumers) {
    if constexpr (kReallocRegisters) warpgroup_reg_dealloc<PRODUCER_REGISTERS>();
    load_and_transpose(producer, first);
    if (CLUSTER_SPLITS > 1) wait_for_cluster_start();
    return;
  }
  if constexpr (kReallocRegisters) warpgroup_reg_alloc<CONSUMER_REGISTERS>();
  Consumer consumer(storage, warpgroup, {q_descale, k_descale, v_descale});
  const RegisterRows rows{out, consumer};
  const Epilogue<kSplits, RegisterRows> epilogue{consumer, storage, rows, lse};
  KvLoop mainloop(consumer);
  mainloop.run(work_tile_at(first));
  if (kSplits > 1) mainloop.redo_if_overflowed(producer);
  epilogue();
  if (kSplits == 1 && mainloop.redo_if_overflowed(producer)) epilogue();
}
