// smooth_reference.cu: Smooths y by x, but for its ends, and adds to counts how often x has each size.
__global__ void smooth_reference(float* y, const float* x, int* counts, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i == 0 || i >= n - 1) return;
  y[i] = static_cast<float>(0.5 * y[i] + 0.25 * (static_cast<double>(x[i - 1]) + x[i + 1]));
  atomicAdd(&counts[min(static_cast<int>(fabsf(x[i]) * 4.0f), 15)], 1);
}
