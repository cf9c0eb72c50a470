// vadd_reference.cu: Adds two vectors, a thread an element.
__global__ void vadd_reference(const float* a, const float* b, float* c) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
