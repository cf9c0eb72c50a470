__global__ void threshold(const int *values, const double *weights, unsigned char least,
                          bool *above, long long *squares, double *weighted, int n) {
    const int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i >= n) return;
    above[i] = values[i] > least;
    squares[i] = (long long)values[i] * values[i];
    weighted[i] = weights[i] * values[i];
}
