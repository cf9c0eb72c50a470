// fa_split_fp8.cu: Computes split-KV attention of fp8 q, k and v for few query rows and long keys
// (decoding). It is fa_split with P rounded to e4m3 and V transposed in registers; O is in f16 or
// bf16.
#include "fa_split/split.cuh"

extern "C" __global__ void __launch_bounds__(kThreads, MIN_CTAS)
    fa_split_fp8(const elem* __restrict__ q, const elem* __restrict__ k, const elem* __restrict__ v,
                 float* __restrict__ partial, float2* __restrict__ stats, const float* q_descale,
                 const float* k_descale, const float* v_descale) {
  attend_split(q, k, v, partial, stats, {q_descale, k_descale, v_descale});
}

// ---- the second launch ----

extern "C" __global__ void __launch_bounds__(kCombineThreads)
    fa_split_fp8_combine(const float* partial, const float2* stats, out_elem* out, float* lse) {
  const auto same = [](i64 row) { return row; };
  combine_partial_rows<kHeadCount * SEQ_Q, false>(partial, stats, out, lse, same);
}
