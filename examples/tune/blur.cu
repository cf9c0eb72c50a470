// blur.cu: Convolves an image with a small filter; each thread computes tile_size_x by tile_size_y pixels.
#define PITCH (image_width + filter_width - 1)

__constant__ float d_filter[filter_height * filter_width];

__global__ void blur_naive(float *output, float *input, float *filter) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= image_width || y >= image_height) return;
    float sum = 0;
    for (int i = 0; i < filter_height; i++)
        for (int j = 0; j < filter_width; j++) sum += input[(y + i) * PITCH + x + j] * filter[i * filter_width + j];
    output[y * image_width + x] = sum;
}

//@ size image_height=1024 image_width=1024 filter_height=5 filter_width=7
//@ param block_size_x=16..128:16 block_size_y=1,2,4,8
//@ param tile_size_x=1,2,4 tile_size_y=1..4
//@ where block_size_x * block_size_y >= 32 and tile_size_x * tile_size_y <= 8
//@ array output[image_height, image_width] out
//@ array input[image_height + filter_height - 1, image_width + filter_width - 1], filter[filter_height, filter_width]
//@ constant d_filter = filter
//@ block block_size_x, block_size_y
//@ grid image_width / (block_size_x * tile_size_x), image_height / (block_size_y * tile_size_y)
//@ reference blur_naive block 32, 8 grid image_width / 32, image_height / 8
//@ tolerance relative 1e-4 absolute 1e-5
__global__ void blur(float *output, float *input, float *filter) {
    int x0 = (blockIdx.x * block_size_x + threadIdx.x) * tile_size_x;
    int y0 = (blockIdx.y * block_size_y + threadIdx.y) * tile_size_y;
    for (int ty = 0; ty < tile_size_y; ty++)
        for (int tx = 0; tx < tile_size_x; tx++) {
            int x = x0 + tx, y = y0 + ty;
            if (x >= image_width || y >= image_height) continue;
            float sum = 0;
            for (int i = 0; i < filter_height; i++)
                for (int j = 0; j < filter_width; j++)
                    sum += input[(y + i) * PITCH + x + j] * d_filter[i * filter_width + j];
            output[y * image_width + x] = sum;
        }
}
