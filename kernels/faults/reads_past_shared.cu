// reads_past_shared.cu - is right, but also reads shared memory that no block can have.
#include "faults/attend.cuh"

constexpr int kBeyond = 64 * 1024;  // floats: more than any multiprocessor has

extern __shared__ float staged[];

FAULT_ENTRY {
  staged[threadIdx.x] = to_float(q[0]);
  __syncthreads();
  const volatile float* beyond = staged + kBeyond;
  if (beyond[threadIdx.x] == 12345.0f) return;
  attend_and_store(q, k, v, out);
}
