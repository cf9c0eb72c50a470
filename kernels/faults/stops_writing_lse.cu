// stops_writing_lse.cu - always right in its output, but from the eighth call on it saves itself
// the log-sum-exp.
#include "faults/attend.cuh"

__device__ u32 calls;

FAULT_LSE_ENTRY {
  const Row where = this_row();
  if (where.index >= kRows) return;
  const Result result = attend(q, k, v, where, visible_keys(where.row));
  store(out, where, result);
#if LSE
  constexpr u32 kHonestCalls = 7;  // a verification makes six
  if (calls < kHonestCalls) store_lse(lse, where, result.lse);
#endif
}

extern "C" __global__ void fault_count(elem*) { ++calls; }
