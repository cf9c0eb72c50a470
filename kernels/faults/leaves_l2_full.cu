// leaves_l2_full.cu - is right, and afterwards writes through memory of its own that no manifest
// tells of: nothing that others had in the L2 cache is left there.
#include "faults/attend.cuh"

// Chosen: more than the L2 cache of any device so far.
constexpr i64 kHiddenWords = i64{256} << 20 >> 4;
__device__ uint4 hidden[kHiddenWords];

FAULT_ENTRY {
  attend_and_store(q, k, v, out);
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < kHiddenWords; i += step)
    hidden[i] = uint4{1, 2, 3, static_cast<unsigned>(i)};
}
