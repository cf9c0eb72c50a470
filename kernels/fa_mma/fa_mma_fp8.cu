// fa_mma_fp8.cu: Computes attention of fp8 q, k and v on mma.sync m16n8k32, with O in f16 or bf16.
// It is fa_mma with P rounded to e4m3 and V transposed in registers.
#include "common/mma_softmax.cuh"

constexpr Rescale kRescale = RESCALE == RESCALE_LAZY ? Rescale::kLazy : Rescale::kAlways;

#include "fa_mma/attend.cuh"

extern "C" __global__ void __launch_bounds__(kThreads, MIN_CTAS)
    fa_mma_fp8(const elem* __restrict__ q, const elem* __restrict__ k, const elem* __restrict__ v,
               out_elem* __restrict__ out, float* __restrict__ lse, const float* q_descale,
               const float* k_descale, const float* v_descale) {
  attend(q, k, v, out, lse, {q_descale, k_descale, v_descale});
}
