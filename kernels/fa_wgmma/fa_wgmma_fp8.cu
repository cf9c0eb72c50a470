// fa_wgmma_fp8.cu: Computes attention of fp8 q, k and v on Hopper: both GEMMs by fp8 wgmma, V
// transposed by the producer warpgroup, P rounded to e4m3, O in f16 or bf16.
//
// A CTA owns BLOCK_M query rows, 64 to a consumer warpgroup, and iterates over KV blocks of BLOCK_N
// keys, as fa_wgmma does, whose headers it shares. notes.md, "FP8", derives layouts.
#include "fa_wgmma/fp8_config.cuh"
#include "fa_wgmma/fp8_attention.cuh"

extern "C" __global__ void __launch_bounds__(kLaunchThreads, MIN_CTAS)
    fa_wgmma_fp8(out_elem* __restrict__ out, float* __restrict__ lse, const float* q_descale,
                 const float* k_descale, const float* v_descale,
                 const __grid_constant__ TensorMap map_q, const __grid_constant__ TensorMap map_k,
                 const __grid_constant__ TensorMap map_v) {
  attend(out, lse, {q_descale, k_descale, v_descale}, map_q, map_k, map_v);
}
