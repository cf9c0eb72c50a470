// vector_add_reference.cu: Adds two vectors, a thread an element.
__global__ void vector_add_reference(float* c, const float* a, const float* b, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
