// threshold_reference.cu: Compares, squares and weights integers, a thread an element.
__global__ void threshold_reference(const int* values, const double* weights, unsigned char least,
                                    bool* above, long long* squares, double* weighted, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  above[i] = values[i] > least;
  squares[i] = static_cast<long long>(values[i]) * values[i];
  weighted[i] = weights[i] * values[i];
}
