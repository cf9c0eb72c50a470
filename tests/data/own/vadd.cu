// vadd.cu: Adds two vectors: a template in a namespace, as a user of C++ has it.
namespace ops {
template <int kBlock, typename T>
__global__ void vadd(const T* a, const T* b, T* c) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
}  // namespace ops
