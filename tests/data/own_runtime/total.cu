// total.cu: Sums a vector in two launches, whose sizes come with the call: a part a block, then all parts.
__device__ float block_sum(float sum) {
  __shared__ float sums[block_size];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = block_size / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  return sums[0];
}

extern "C" __global__ void __launch_bounds__(block_size)
    total_parts(const float* x, float* parts, long long n) {
  const long long first = static_cast<long long>(blockIdx.x) * block_size * items + threadIdx.x;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < items; ++k)
    if (first + k * block_size < n) sum += x[first + k * block_size];
  sum = block_sum(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(block_size)
    total_sum(const float* parts, float* y, unsigned count) {
  float sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += block_size) sum += parts[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *y = sum;
}
