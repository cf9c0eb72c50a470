// fa_wgmma_fp8_fused.cu: Computes attention of 16-bit q, k and v in fp8 on Hopper: one launch
// quantizes, the next is fa_wgmma_fp8. notes.md, "Quantizing", derives what it costs.
#include "fa_wgmma/fp8_config.cuh"
#include "fa_wgmma/fp8_attention.cuh"
#include "common/quantize.cuh"

extern "C" __global__ void __launch_bounds__(QUANT_THREADS)
    fa_wgmma_fp8_quantize(const u16* q, const u16* k, const u16* v, u8* q_fp8, u8* k_fp8,
                          u8* v_fp8, float* factors, float* k_mean) {
  quantize(q, k, v, q_fp8, k_fp8, v_fp8, factors, k_mean);
}

extern "C" __global__ void __launch_bounds__(kLaunchThreads, MIN_CTAS)
    fa_wgmma_fp8_fused(out_elem* __restrict__ out, float* __restrict__ lse, const float* factors,
                       const u16* q, const float* k_mean, const __grid_constant__ TensorMap map_q,
                       const __grid_constant__ TensorMap map_k,
                       const __grid_constant__ TensorMap map_v) {
  constexpr int kParts = BATCH * KV_HEADS;
  attend(out, lse, {factors, factors + kParts, factors + 2 * kParts}, map_q, map_k, map_v,
         {q, k_mean});
}
