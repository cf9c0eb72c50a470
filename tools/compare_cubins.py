#!/usr/bin/env python3
"""Times edited machine code of one launch in the same rounds, and where its warps spend their cycles.

    compare_cubins.py LAUNCH.json CUBIN... [--rounds N]

LAUNCH.json is what `fatune export --to cubin` wrote; CUBINs are of the source that `--to source` wrote, as it was and
edited, compiled by NVRTC for the same architecture, with as much shared memory at most. No gate looks at them: the relative
l2 of the output against PyTorch in float32 says which may be believed, and for which something is amiss.

Inputs are N(0,1), of fp8 times 100 with factors of 1/100, up to 448, as a quantizer leaves them; every tensor contiguous, a causal mask for as many queries as keys. A time is that of a CUDA
graph of plain launches, behind a replay of it that warms up, median of N rounds. Where a cubin has

    __device__ unsigned g_stamps[CTAS][WARPS][32];    // %clock, by the first lane of each warp

its medians over CTAs are printed by warp, in cycles since the CTA's first stamp 0. Needs PyTorch and a GPU.
"""
import argparse
import ctypes
import functools
import json
import pathlib
import statistics

import torch

LAUNCHES = 34  # of a graph: 0.2 ms of 5 us each
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
MOST_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
PROMOTE_128 = 2  # CU_TENSOR_MAP_L2_PROMOTION_L2_128B
STAMPS = 32  # of a warp


@functools.cache
def driver():
    return ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    if code := getattr(driver(), name)(*arguments):
        raise RuntimeError(f"{name}: error {code}")


class Problem:
    def __init__(self, launch):
        sizes, dtype = launch["problem"], DTYPES[launch["problem"]["dtype"]]
        query = sizes["batch"], sizes["heads"], sizes["seq_q"], sizes["head_dim"]
        key = sizes["batch"], sizes["kv_heads"], sizes["seq_kv"], sizes["head_dim"]
        torch.manual_seed(1)
        factor = 1.0 if dtype.itemsize > 1 else 0.01
        self.tensors = {name: (torch.randn(shape, device="cuda") / factor).clamp(-448, 448).to(dtype) for name, shape in zip("qkv", (query, key, key))}
        self.out_dtype = DTYPES[sizes.get("out_dtype", sizes["dtype"])]
        self.factors = torch.full((sizes["batch"], sizes["heads"]), factor, device="cuda")
        self.expected = torch.nn.functional.scaled_dot_product_attention(
            *(tensor.float() * factor for tensor in self.tensors.values()), scale=launch["scale"], is_causal=sizes["mask"] == "causal",
            enable_gqa=sizes["heads"] != sizes["kv_heads"])


def tensor_map(described, address):
    """The 128 bytes, aligned to 64; keep what is returned first."""
    rank, room = len(described["sizes"]), ctypes.create_string_buffer(192)
    at = (ctypes.addressof(room) + 63) // 64 * 64
    longs, words = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank
    element = {"byte": 0, "f16": 6, "bf16": 9}[described["element"]]
    call("cuTensorMapEncodeTiled", ctypes.c_void_p(at), element, rank, ctypes.c_void_p(address), longs(*described["sizes"]),
         (ctypes.c_uint64 * (rank - 1))(*described["strides_bytes"]), words(*described["box"]), words(*[1] * rank), 0,
         SWIZZLES[described["swizzle_bytes"]], PROMOTE_128, 0)
    return room, at


class Cubin:
    def __init__(self, path, launch, problem, stream):
        self.name, self.problem, self.stream, self.times = path.stem, problem, stream, []
        (self.stage,) = launch["stages"]
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self.module), path.read_bytes())
        call("cuModuleGetFunction", ctypes.byref(self.function), self.module, self.stage["entry"].encode())
        call("cuFuncSetAttribute", self.function, MOST_DYNAMIC_SHARED, self.stage["shared_bytes"])
        self.out = torch.empty(problem.expected.shape, device="cuda", dtype=problem.out_dtype)
        self.arguments(launch)
        self.queue()  # loads the code
        stream.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=stream):
            for _ in range(LAUNCHES):
                self.queue()

    def arguments(self, launch):
        maps = {described["name"]: described for described in launch["tensor_maps"]}
        addresses = {"out": self.out.data_ptr(), "lse": 0} | {
            f"{name}_descale": self.problem.factors.data_ptr() for name in "qkv"} | {
            name: tensor.data_ptr() for name, tensor in self.problem.tensors.items()}
        self.held, at = [], []
        for name in self.stage["arguments"]:
            if name in maps:
                room, address = tensor_map(maps[name], addresses[maps[name]["tensor"]])
            else:
                room = ctypes.c_uint64(addresses[name])
                address = ctypes.addressof(room)
            self.held.append(room)
            at.append(address)
        self.parameters = (ctypes.c_void_p * len(at))(*at)

    def queue(self):
        call("cuLaunchKernel", self.function, *self.stage["grid"], *self.stage["block"], self.stage["shared_bytes"],
             ctypes.c_void_p(self.stream.cuda_stream), self.parameters, None)

    def time(self):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(self.stream):
            self.graph.replay()
            begin.record()
            self.graph.replay()
            end.record()
        self.stream.synchronize()
        self.times.append(begin.elapsed_time(end) * 1000 / LAUNCHES)

    def relative_l2(self):
        return float((self.out.float() - self.problem.expected).norm() / self.problem.expected.norm())

    def stamps(self):
        """[CTAs, warps, STAMPS] cycles; None of a cubin without."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        if driver().cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), self.module, b"g_stamps"):
            return None
        clocks = torch.empty(size.value // 4, dtype=torch.int32)
        call("cuMemcpyDtoH_v2", ctypes.c_void_p(clocks.data_ptr()), address, size)
        ctas, warps = self.stage["grid"][0], self.stage["block"][0] // 32
        clocks = clocks.reshape(-1, warps, STAMPS)[:ctas].to(torch.int64) & 0xFFFFFFFF
        stamped = clocks[:, :, 0] > 0
        first = torch.where(stamped, clocks[:, :, 0], 1 << 32).min(1).values
        return torch.where(stamped[:, :, None], clocks - first[:, None, None], -1)


def print_stamps(stamps):
    """Each warp by itself: wgmmas wait for the last of a warpgroup's, which a median over them does not show."""
    for warp, medians in enumerate(stamps.median(0).values.tolist()):
        if max(medians) >= 0:
            print(f"  warp {warp}:", " ".join(f"{i}:{cycles}" for i, cycles in enumerate(medians) if cycles >= 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("launch", type=pathlib.Path)
    parser.add_argument("cubins", type=pathlib.Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=60)
    args = parser.parse_args()
    launch = json.loads(args.launch.read_text())
    torch.zeros(1, device="cuda")  # makes the context
    stream, problem = torch.cuda.Stream(), Problem(launch)
    cubins = [Cubin(path, launch, problem, stream) for path in args.cubins]
    for number in range(args.rounds):
        for cubin in cubins[:: 1 if number % 2 else -1]:
            cubin.time()
    for cubin in cubins:
        print(f"{cubin.name}: {statistics.median(cubin.times):.3f} us plain, relative l2 {cubin.relative_l2():.4f}")
        if (stamps := cubin.stamps()) is not None:
            print_stamps(stamps)


if __name__ == "__main__":
    main()
