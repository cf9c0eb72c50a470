// tally.cu: Counts values by their lowest bits, as files of BAT tune it.
extern "C" __global__ void tally(unsigned int* counts, const signed char* values, double step, float4* pairs) {
  extern __shared__ unsigned int part[];
  if (threadIdx.x < 16) part[threadIdx.x] = 0;
  __syncthreads();
  const int first = (blockIdx.x * BLOCK_SIZE + threadIdx.x) * WORK_PER_THREAD;
#pragma unroll
  for (int k = 0; k < WORK_PER_THREAD; ++k) {
    if (first + k < 4096) atomicAdd(&part[values[first + k] & 15], 1u);
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], part[threadIdx.x]);
  if (first < 64) pairs[first].x += static_cast<float>(step);
}
