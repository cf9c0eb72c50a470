// fp8_attention.cuh: Attends by a CTA of fp8 q, k and v.
#pragma once

#include "fa_wgmma/consumer.cuh"
#include "fa_wgmma/epilogue.cuh"
#include "fa_wgmma/ones.cuh"
#include "fa_wgmma/producer.cuh"
#include "fa_wgmma/register_rows.cuh"
#include "fa_wgmma/v_transposer.cuh"

/// By all threads of a kernel's CTA, as the last that it does. The maps are of elements of DTYPE;
/// `key_mean` is asked for where K was smoothed.
DEVICE void attend(out_elem* out, float* lse, const Descales& descales, const TensorMap& map_q,
                   const TensorMap& map_k, const TensorMap& map_v, const KeyMean& key_mean = {}) {
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
  if (warpgroup == kConsumers) {
    if constexpr (kReallocRegisters) warpgroup_reg_dealloc<PRODUCER_REGISTERS>();
    load_and_transpose(producer, first);
    if (CLUSTER_SPLITS > 1) wait_for_cluster_start();
    return;
  }
  if constexpr (kReallocRegisters) warpgroup_reg_alloc<CONSUMER_REGISTERS>();
  Consumer consumer(storage, warpgroup, descales);
  const RegisterRows rows{out, consumer};
  const Epilogue<kSplits, RegisterRows> epilogue{consumer, storage, rows, lse, key_mean};
  process_work_tiles(consumer, epilogue, first);
}
