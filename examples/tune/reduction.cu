// reduction.cu: Sums of one vector, a block each.
template <typename T>
__global__ void sum_parts(T *sums, const T *values, long long count) {
    __shared__ T shared[block_size_x];
    T sum = 0;
    long long step = (long long)gridDim.x * block_size_x * vector;
    for (long long at = ((long long)blockIdx.x * block_size_x + threadIdx.x) * vector; at < count; at += step)
        for (int k = 0; k < vector; k++)
            if (at + k < count) sum += values[at + k];
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int half = block_size_x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}
