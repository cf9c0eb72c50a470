// too_much_static_shared.cu - declares 300 KiB of static shared memory, unlike its manifest.
#include "faults/attend.cuh"

FAULT_ENTRY {
  __shared__ volatile float too_large[300 * 256];
  too_large[threadIdx.x] = 0.0f;
  attend_and_store(q, k, v, out);
}
