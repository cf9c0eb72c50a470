// fa_split.cu - split-KV attention forward for few query rows and long keys (decoding): KV splits
// to partial O, then partial O combined to rows of out.
//
// The query heads that share a key/value head are packed as rows of one tile, so K and V are read
// once. fa_split: one CTA owns BLOCK_M packed rows and one of NUM_SPLITS splits of the keys; its
// warps form INTRA_CTA_SPLITS groups, each with a pipeline of its own in shared memory, which runs
// without barriers among them. fa_split_combine: NUM_SPLITS partial rows become one. notes.md has
// the layouts.
#include "fa_split/split.cuh"

extern "C" __global__ void __launch_bounds__(kThreads, MIN_CTAS)
    fa_split(const elem* __restrict__ q, const elem* __restrict__ k, const elem* __restrict__ v,
             float* __restrict__ partial, float2* __restrict__ stats MODIFIER_PARAMETERS) {
  attend_split(q, k, v, partial, stats, {}, {MODIFIERS});
}

// ---- the second launch ----

extern "C" __global__ void __launch_bounds__(kCombineThreads)
    fa_split_combine(const float* partial, const float2* stats, elem* out, float* lse) {
  const auto same = [](i64 row) { return row; };
  combine_partial_rows<kHeadCount * SEQ_Q, false>(partial, stats, out, lse, same);
}
