// fa_wgmma.cu: Computes attention on Hopper: wgmma, TMA, warp specialisation and online softmax,
// with split-KV inside a CTA or a cluster where query rows are few.
//
// A CTA owns BLOCK_M query rows, 64 to a consumer warpgroup, and iterates over KV blocks of BLOCK_N
// keys. INTRA_CTA_SPLITS warpgroups in each of CLUSTER_SPLITS CTAs share the KV blocks of the same
// 64 rows and combine their partial O at the end. K and V pass through pipelines of STAGES stages,
// or lie in shared memory as a whole. notes.md derives formulas and layouts.
#include "fa_wgmma/config.cuh"
#include "fa_wgmma/consumer.cuh"
#include "fa_wgmma/epilogue.cuh"
#include "fa_wgmma/output_rows.cuh"
#include "fa_wgmma/producer.cuh"

extern "C" __global__ void __launch_bounds__(kLaunchThreads, MIN_CTAS)
    fa_wgmma(elem* __restrict__ out, float* __restrict__ lse,
             const __grid_constant__ TensorMap map_q, const __grid_constant__ TensorMap map_k,
             const __grid_constant__ TensorMap map_v,
             const __grid_constant__ TensorMap map_out MODIFIER_PARAMETERS) {
  extern __shared__ __align__(1024) u8 shared[];
  const SharedStorage storage{shared_address(shared)};
  const Producer producer{storage, map_q, map_k, map_v LENGTHS_ARGUMENT};
  if (kLengths || kTensors) grid_dependency_wait();
  const int first = static_cast<int>(blockIdx.x) / CLUSTER_SPLITS;
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
#if MASK_EXPR
  if (threadIdx.x < 32)
    list_blocks(work_tile_at<true>(first LENGTHS_ARGUMENT) WITH_TENSORS({TENSOR_VALUES}));
  __syncthreads();
#endif
  producer.prologue(work_tile_at(first LENGTHS_ARGUMENT));
  __syncthreads();
  if (CLUSTER_SPLITS > 1) cluster_arrive_relaxed();
  launch_dependents();
  if (kHasProducer && warpgroup == kConsumers) {
    if constexpr (kReallocRegisters) warpgroup_reg_dealloc<PRODUCER_REGISTERS>();
    if (threadIdx.x == kThreads - 32) producer.load(first);
    if (kQHasLoader && threadIdx.x == kThreads - 64) producer.load_later_q(first);
    if (CLUSTER_SPLITS > 1) wait_for_cluster_start();
    return;
  }
  if (!kHasProducer && threadIdx.x == kThreads - 32)
    producer.fill_stages(work_tile_at(first LENGTHS_ARGUMENT));
  __syncwarp();
  if constexpr (kReallocRegisters) warpgroup_reg_alloc<CONSUMER_REGISTERS>();
  Consumer consumer(storage, warpgroup);
#if MODIFIED
  consumer.modifiers = {MODIFIERS};
#endif
  const OutputRows rows{storage, map_out, out, consumer};
  const Epilogue<kSplits, OutputRows> epilogue{consumer, storage, rows, lse};
  process_work_tiles(consumer, epilogue, first);
  if (kStoreTma) tma_store_wait();
}
