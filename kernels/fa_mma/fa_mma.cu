// fa_mma.cu - attention forward on mma.sync: K and V by cp.async, operands by ldmatrix, online
// softmax.
//
// One CTA owns BLOCK_M query rows of one head, or of the heads that share a key/value head
// (PACK_GQA), and iterates over KV blocks of BLOCK_N keys. Its warps form INTRA_CTA_SPLITS groups;
// a group's warps divide the rows among them, and each group takes its own share of the keys of
// every KV block. notes.md derives formulas and layouts.
#include "common/mma_softmax.cuh"

constexpr Rescale kRescale = RESCALE == RESCALE_ALWAYS ? Rescale::kAlways
                             : RESCALE == RESCALE_LAZY ? Rescale::kLazy
                                                       : Rescale::kLate;

#include "fa_mma/attend.cuh"

extern "C" __global__ void __launch_bounds__(kThreads, MIN_CTAS)
    fa_mma(const elem* __restrict__ q, const elem* __restrict__ k, const elem* __restrict__ v,
           elem* __restrict__ out, float* __restrict__ lse MODIFIER_PARAMETERS) {
  attend(q, k, v, out, lse, {}, {MODIFIERS});
}
