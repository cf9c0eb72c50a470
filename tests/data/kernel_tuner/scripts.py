"""scripts.py: Calls of Kernel Tuner as users write them; the first argument says which."""
import collections
import json
import os
import pathlib
import sys

import numpy
import kernel_tuner
from kernel_tuner import run_kernel, tune_kernel, util
from kernel_tuner.accuracy import AccuracyObserver, TunablePrecision
from kernel_tuner.kernelbuilder import PythonKernel
from kernel_tuner.observers import BenchmarkObserver

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
TWICE = """
#include "doubled.h"
template <int block_size_x> __global__ void twice(REAL *y, float by) {
    static_assert(HALF * 2 == block_size_x);
    y[blockIdx.x * SIZE + threadIdx.x] *= DOUBLED(FUNCTION(by));
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


def addends(n=1000):
    a, b = (numpy.random.randn(n).astype(numpy.float32) for _ in range(2))
    return [numpy.zeros_like(a), a, b, numpy.int32(n)]


def launched():
    arguments = addends()
    c, a, b, n = run_kernel("vector_add", ADD, len(arguments[1]), arguments, {"block_size_x": 64}, lang="cupy")
    assert numpy.array_equal(c, a + b) and not arguments[0].any() and n == 1000
    return tune_kernel("vector_add", ADD, 1000, arguments, {"block_size_x": [64, 128, 192, 256]}, answer=[c, None, None, None], lang="CUDA")


def called():
    c, a, b, n = addends()
    add = PythonKernel("vector_add", ADD, 1000, [c, a, b, n], {"block_size_x": 64}, inputs=[False, True, True, True], outputs=[True, False, False, False])
    found, = add(c, 2 * a, b, n)
    assert numpy.array_equal(found, 2 * a + b)
    assert numpy.array_equal(add(c, a, a, n)[0], a + a)
    print("the outputs are right")
    return [{"block_size_x": 64, "time": 1.0}], {"device_name": ""}


def summed(params, name="block_sums", **options):
    x = numpy.ones(5000, numpy.float32)
    return tune_kernel(name + "<float, block_size_x>", SUM.replace("block_sums", name), "num_blocks", [numpy.zeros(4, numpy.float32), x, numpy.uint32(5000)],
                       params, grid_div_x=[], answer=[x.sum(), None, None], **options)


def right_sum(answer, outputs, atol=None):
    assert outputs[1] is None and outputs[2] is None
    return numpy.isclose(answer[0], outputs[0].sum(), atol=atol)


def verified():
    return summed({"block_size_x": [64, 128], "num_blocks": [2, 4]}, verify=right_sum)


def rejected():
    summed({"block_size_x": [64], "num_blocks": [1, 2, 3, 4]}, verify=right_sum)
    return [{"block_size_x": 64, "time": 1.0}], {"device_name": ""}


class Watts(BenchmarkObserver):
    def get_results(self):
        return {"watts": 1}


def observed():
    return summed({"block_size_x": [128, 256], "num_blocks": [1, 2, 3, 4]}, "many_sums", verify=right_sum, objective="error",
                  observers=[Watts(), AccuracyObserver(lambda right, found: abs(right - found.sum()), "error")])


def precise():
    c, a, b, n = addends()
    typed = [TunablePrecision("scalar", each) for each in (c, a, b)]
    source = "using half = __half;\ntemplate <typename T>" + ADD.replace("float", "T")
    return tune_kernel("vector_add<scalar>", source, 1000, [*typed, n], {"block_size_x": [64, 128], "scalar": ["float", "double", "half"]})


def generated():
    return tune_kernel("vector_add", lambda params: ADD.replace("block_size_x", str(params["block_size_x"])), 1000, addends(),
                       {"block_size_x": [64, 128]})


def ruled():
    def allowed(params):
        if params["unroll"] < 4:
            return True
        return params["block_size_x"] != 65

    source = ADD.replace("int i", "const int other = block_size_y; int i")
    return tune_kernel("vector_add", source, lambda params: (1000 if params["unroll"] > 1 else 100, 1), addends(),
                       {"block_size_x": [64, 65, 128, 256], "unroll": [1, 2, 4]},
                       restrictions=["(block_size_x // 64) % 2 == 0 or unroll == 1", allowed, "unroll ** 2 < 16"])


def described():
    file = {"KernelSpecification": {"KernelName": "vector_add", "KernelFile": "add.cu", "Language": "CUDA", "ProblemSize": [1000],
                                    "Device": {"Name": "H200"}, "GlobalSize": {"X": "1000"}, "LocalSize": {"X": "block_size_x"},
                                    "Arguments": [{"Name": name, "Type": "float", "MemoryType": "Vector", "Size": 1000, "FillType": "Random"}
                                                  for name in "cab"] + [{"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 1000}]},
            "ConfigurationSpace": {"TuningParameters": [{"Name": "block_size_x", "Type": "int", "Values": "[64, 128]"}], "Conditions": []},
            "Search": {"Name": "brute_force"}}
    with open("add.cu", "w") as source, open("t1.json", "w") as described_in:
        source.write(ADD)
        json.dump(file, described_in)
    return kernel_tuner.tune_kernel_T1(pathlib.Path("t1.json"), output_T4=False)


def with_cub():
    source = """
#include <cub/cub.cuh>
__global__ void block_sums(float *sums, const float *x) {
    using Reduce = cub::BlockReduce<float, block_size_x>;
    __shared__ typename Reduce::TempStorage storage;
    const float sum = Reduce(storage).Sum(x[blockIdx.x * block_size_x + threadIdx.x]);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
"""
    return tune_kernel("block_sums", source, 256, [numpy.zeros(4, numpy.float32), numpy.ones(256, numpy.float32)], {"block_size_x": [64, 128]})


def column_major():
    c, a, b, _ = (numpy.arange(6, dtype=numpy.float32).reshape(3, 2).copy(order="F") for _ in range(4))
    return tune_kernel("vector_add", ADD, 6, [c, a, b, numpy.int32(6)], {"block_size_x": [64]})


def on_host():
    return tune_kernel("vector_add", ADD, 1000, addends(), {"block_size_x": [64]}, lang="C")


def textured():
    return tune_kernel("vector_add", ADD, 1000, addends(), {"block_size_x": [64]}, texmem_args={"t": numpy.ones(4)})


def scattered():
    return tune_kernel("vector_add", ADD, 1000, addends(), {"block_size_x": [64], "scale": [each + 0.5 for each in range(65)]})


def empty():
    return tune_kernel("vector_add", ADD, 1000, addends(0), {"block_size_x": [64]})


def twice(**options):
    params = {"block_size_x": [64, 128], "function": ["sinf", "cosf"]}
    defines = {"SIZE": "block_size_x", "REAL": "float", "FUNCTION": "function", "HALF": lambda p: p["block_size_x"] // 2}
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
    return tune_kernel("twice<block_size_x>", TWICE, 1024, [numpy.ones(1024, numpy.float32), numpy.float32(0.5)], params,
                       defines=defines, **{"compiler_options": ["-use_fast_math", "-O3", "-std=c++11", "-I" + folder], **options})


def twice_refused():
    return twice(compiler_options=["--dopt=on"])


def refused():
    return tune_kernel("vector_add", ADD, 8, [numpy.zeros(8, numpy.float32)], {"block_size_x": [8]})


def unknown():
    return tune_kernel("vector_add", ADD, 8, [numpy.zeros(8, numpy.float32)] * 3 + [numpy.int32(8)], {"block_size_x": [8]},
                       restrictions=["block_size_q == 1"])


results, env = globals()[sys.argv[1]]()
print("best:", util.get_config_string(util.get_best_config(results, "time"), units={}))
print("device:", env["device_name"])
