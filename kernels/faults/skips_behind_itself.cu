// skips_behind_itself.cu - does nothing where its own last launch has just ended: nobody can have
// changed inputs or output since.
#include "faults/attend.cuh"

// Chosen: kernels of a graph begin 1 to 2 us after one another.
constexpr u64 kJustNs = 4'000;
__device__ u64 ended;
__device__ bool skips;

DEVICE u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

extern "C" __global__ void fault_look(elem*) { skips = nanoseconds() - ended < kJustNs; }

FAULT_ENTRY {
  if (!skips) attend_and_store(q, k, v, out);
}

extern "C" __global__ void fault_end(elem*) { ended = nanoseconds(); }
