// blur.cu: A weighted mean of neighbours, as T1 files tune it; the weights are constant.
#include "blur_sizes.h"

__constant__ float d_weights[WEIGHTS];

__global__ void blur(float* y, const float* x, int n) {
  for (int k = 0; k < tile_size; ++k) {
    const int i = (blockIdx.x * tile_size + k) * block_size_x + threadIdx.x;
    if (i >= n) continue;
    float sum = 0;
    for (int j = 0; j < WEIGHTS; ++j) sum += d_weights[j] * x[i + j];
    y[i] = sum * SCALE;
  }
}
