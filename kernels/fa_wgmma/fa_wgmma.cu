// fa_wgmma.cu - attention forward on Hopper's warpgroup tensor cores: tiles by tensor copies,
// softmax online, keys shared among warpgroups and blocks of a cluster where rows are few.
//
// A block owns BLOCK_M query rows, 64 to a warpgroup, and walks over the keys in tiles of BLOCK_N.
// KEY_PARTS warpgroups, in CLUSTER blocks, share each 64 rows: part p visits the tiles p, p +
// parts,
// ... and the parts join at the end. K and V pass through rings of STAGES tiles, or lie in shared
// memory as a whole. Formulas and layouts are derived in notes.md.
#include "fa_wgmma/finish.cuh"
#include "fa_wgmma/loader.cuh"
#include "fa_wgmma/woven.cuh"

extern "C" __global__ void __launch_bounds__(kLaunchThreads, MIN_CTAS)
    fa_wgmma(elem* __restrict__ out, float* __restrict__ lse,
             const __grid_constant__ TensorMap map_q, const __grid_constant__ TensorMap map_k,
             const __grid_constant__ TensorMap map_v, const __grid_constant__ TensorMap map_out) {
  extern __shared__ __align__(1024) u8 shared[];
  const Memory memory{shared_address(shared)};
  const Loader loader{memory, map_q, map_k, map_v};
  const int first = static_cast<int>(blockIdx.x) / CLUSTER;
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  if (CLUSTER > 1) cluster_arrive();
  if (kWholeSums) write_ones(memory);
  loader.open(item_at(first));
  __syncthreads();
  let_work_behind_begin();
  if (threadIdx.x == kThreads - 32) loader.fill(item_at(first));
  __syncwarp();
  if (LOADER != LOADER_SELF && warpgroup == kConsumers) {
    if constexpr (kMoveRegisters) give_registers<kLoaderRegisters>();
    if (threadIdx.x == kThreads - 32) loader.stream(first);
    if (CLUSTER > 1) sit_through_join();
    return;
  }
  if constexpr (kMoveRegisters) take_registers<kConsumerRegisters>();
  Worker worker(memory, warpgroup);
  const OutputRows rows{memory, map_out, out, worker};
  const Finish<kParts> finish{worker, memory, rows, lse};
  if constexpr (kPersistent) {
    u32 q_parity = 0;
#pragma unroll 1
    for (int index = first; index < kItems; index += kBlocks) {
      worker.attend(item_at(index), index == first, q_parity);
      finish();
      worker.leave();
      q_parity ^= 1;
    }
  } else if constexpr (kWoven) {
    Woven woven(worker);
    woven.attend(item_at(first));
    if (kParts > 1) woven.repair(loader);
    finish();
    if (kParts == 1 && woven.repair(loader)) finish();
  } else {
    worker.attend(item_at(first), true, 0);
    finish();
  }
  if (STORE == STORE_TENSOR) tensor_store_wait();
}
