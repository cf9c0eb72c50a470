// counts_calls.cu - is honest while it is checked: it counts its calls and does nothing from the
// eighth on.
#include "faults/attend.cuh"

constexpr u32 kHonestCalls = 7;  // a verification makes six
__device__ u32 calls;

FAULT_ENTRY {
  if (calls < kHonestCalls) attend_and_store(q, k, v, out);
}

extern "C" __global__ void fault_count(elem*) { ++calls; }
