__constant__ float d_filter[17];

__global__ void smooth(float *output, const float *input, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) {
        float sum = 0;
        #pragma unroll loop_unroll_factor
        for (int k = 0; k < 17; k++) {
            sum += input[i + k] * d_filter[k];
        }
        output[i] = sum;
    }
}
