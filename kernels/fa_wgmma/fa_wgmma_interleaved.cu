// fa_wgmma_interleaved.cu: Computes attention on Hopper with QK^T, softmax and PV interleaved in
// steps of 16 keys. All of K and V lie in shared memory.
//
// A CTA owns BLOCK_M query rows, 64 to a consumer warpgroup, and iterates over KV blocks of BLOCK_N
// keys, as fa_wgmma does, whose headers it shares. The mainloop differs: no step waits for a whole
// block, so a warpgroup overlaps its own tensor-core and exponential work. notes.md says how.
#include "fa_wgmma/interleaved_config.cuh"
#include "fa_wgmma/interleaved_mainloop.cuh"
#include "fa_wgmma/consumer.cuh"
#include "fa_wgmma/epilogue.cuh"
#include "fa_wgmma/output_rows.cuh"
#include "fa_wgmma/producer.cuh"

extern "C" __global__ void __launch_bounds__(kLaunchThreads, MIN_CTAS)
    fa_wgmma_interleaved(elem* __restrict__ out, float* __restrict__ lse,
                         const __grid_constant__ TensorMap map_q,
                         const __grid_constant__ TensorMap map_k,
                         const __grid_constant__ TensorMap map_v,
                         const __grid_constant__ TensorMap map_out) {
  extern __shared__ __align__(1024) u8 shared[];
  const SharedStorage storage{shared_address(shared)};
  const Producer producer{storage, map_q, map_k, map_v};
  const int first = static_cast<int>(blockIdx.x) / CLUSTER_SPLITS;
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  if (kRowSumByMma) write_ones(storage);
  producer.prologue(work_tile_at(first));
  __syncthreads();
  if (CLUSTER_SPLITS > 1) cluster_arrive_relaxed();
  launch_dependents();
  if (kHasProducer && warpgroup == kConsumers) {
    if constexpr (kReallocRegisters) warpgroup_reg_dealloc<PRODUCER_REGISTERS>();
    if (threadIdx.x == kThreads - 32) producer.load(first);
    if (CLUSTER_SPLITS > 1) wait_for_cluster_start();
    return;
  }
  if (!kHasProducer && threadIdx.x == kThreads - 32) producer.fill_stages(work_tile_at(first));
  __syncwarp();
  if constexpr (kReallocRegisters) warpgroup_reg_alloc<CONSUMER_REGISTERS>();
  Consumer consumer(storage, warpgroup);
  const OutputRows rows{storage, map_out, out, consumer};
  const Epilogue<kSplits, OutputRows> epilogue{consumer, storage, rows, lse};
  InterleavedMainloop mainloop(consumer);
  mainloop.run(work_tile_at(first));
  if (kSplits > 1) mainloop.redo_if_overflowed(producer);
  epilogue();
  if (kSplits == 1 && mainloop.redo_if_overflowed(producer)) epilogue();
  if (kStoreTma) tma_store_wait();
}
