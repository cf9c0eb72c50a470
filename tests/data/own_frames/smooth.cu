__global__ void smooth(float *y, const float *x, int *counts, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i == 0 || i >= n - 1) return;
    y[i] = 0.5f * y[i] + 0.25f * (x[i - 1] + x[i + 1]);
    atomicAdd(&counts[min(static_cast<int>(fabsf(x[i]) * 4.0f), 15)], 1);
}
