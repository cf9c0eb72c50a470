"""scripts.py: Calls of Kernel Tuner as users write them; the first argument says which."""
import collections
import sys

import numpy
import kernel_tuner
from kernel_tuner import tune_kernel, util

ADD = """
__global__ void vector_add(float *c, float *a, float *b, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}
"""
TRANSPOSE = """
template <int size> __device__ float seen(const float *x, int i) { return x[i % (size * size)]; }
extern "C" __global__ void Turn(float *y, const float *x) {
    __shared__ float tile[block_size_y * tile_size][block_size_x + padding];
    for (int t = 0; t < tile_size; ++t)
        tile[threadIdx.y + t * block_size_y][threadIdx.x] =
            seen<512>(x, (blockIdx.y * block_size_y * tile_size + threadIdx.y + t * block_size_y) * 512 + blockIdx.x * block_size_x + threadIdx.x);
    __syncthreads();
    for (int t = 0; t < tile_size; ++t)
        y[(blockIdx.x * block_size_x + threadIdx.x) * 512 + blockIdx.y * block_size_y * tile_size + threadIdx.y + t * block_size_y] =
            tile[threadIdx.y + t * block_size_y][threadIdx.x];
}
"""
FILTER = """
#include <cuda/std/limits>
__constant__ float weights[64];
__global__ void filter(double* __restrict__ y, const double* __restrict__ x /* read, alone */, const int rows, double scale) {
    const int row = blockIdx.x * (threads / lanes) + threadIdx.x / lanes;
    if (row >= rows || threadIdx.x % lanes) return;
    double sum = 0;
#pragma unroll UNROLL
    for (int i = 0; i < 5; ++i) sum += weights[i] * x[row + i];
    y[row] = scale * sum;
}
"""
SUM = """
template <typename T, int threads>
__global__ void block_sums(T *sums, T *x, unsigned n) {
    T sum = 0;
    for (unsigned i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) sum += x[i];
    atomicAdd(sums + blockIdx.x, sum);
}
"""


def vector_add():
    n = 10_007
    a, b = (numpy.random.randn(n).astype(numpy.float32) for _ in range(2))
    params = {"block_size_x": [128 + 64 * i for i in range(15)]}
    metrics = {"GB/s": lambda p: 12 * n / p["time"] / 1e6, "J": lambda p: p["energy"]}
    return tune_kernel("vector_add", ADD, n, [numpy.zeros_like(a), a, b, numpy.int32(n)], params, metrics=metrics)


def turn():
    x = numpy.random.randn(512, 512).astype(numpy.float32)
    params = collections.OrderedDict(block_size_x=[16, 32], block_size_y=[2, 4, 8], tile_size=[1, 2, 4], padding=[0, 1])
    least = 64
    return tune_kernel("Turn", TRANSPOSE, (512, 512), [numpy.zeros_like(x), x], params, grid_div_y=["block_size_y", "tile_size"],
                       restrictions=lambda p: p["block_size_x"] * p["block_size_y"] >= least and (p["padding"] == 0 or p["tile_size"] in (2, 4)),
                       answer=[x.T.copy(), None], atol=1e-5)


def filtered():
    rows = numpy.int32(3000)
    x, y = numpy.random.randn(rows + 4), numpy.zeros(rows)
    params = {"threads": [64, 128], "lanes": [1, 4], "UNROLL": [0, 1, 5]}
    return kernel_tuner.tune_kernel(
        "filter", FILTER, rows, [y, x, rows, numpy.float64(0.5)], params, grid_div_x=["threads / lanes"],
        block_size_names=["threads"], cmem_args={"weights": numpy.ones(5, numpy.float32)}, restrictions=["threads * lanes <= 256"])


def sums(name="block_sums"):
    params = {"block_size_x": [64, 128], "num_blocks": [2, 4]}
    return tune_kernel(name + "<float, block_size_x>", SUM.replace("block_sums", name), "num_blocks",
                       [numpy.zeros(4, numpy.float32), numpy.ones(5000, numpy.float32), numpy.uint32(5000)], params, grid_div_x=[])


def given_up():
    return sums("given_up")


def refused():
    return tune_kernel("vector_add", ADD, 8, [numpy.zeros(8, numpy.float32)], {"block_size_x": [8]})


def unknown():
    return tune_kernel("vector_add", ADD, 8, [numpy.zeros(8, numpy.float32)] * 3 + [numpy.int32(8)], {"block_size_x": [8]},
                       restrictions=["block_size_q == 1"])


results, env = globals()[sys.argv[1]]()
print("best:", util.get_config_string(util.get_best_config(results, "time"), units={}))
print("device:", env["device_name"])
