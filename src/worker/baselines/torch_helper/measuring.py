"""measuring.py: Times work on the device and compares outputs, as the sampler does for kernels."""
import math

import torch

from torch_helper.basics import Refused

HIDE_CYCLES = 1_000_000  # chosen: half a millisecond, in which Python queues any of these calls


TYPES = {"e4m3": ("float8_e4m3fn", 1), "e5m2": ("float8_e5m2", 1), "f16": ("float16", 2),
         "bf16": ("bfloat16", 2), "f32": ("float32", 4), "f64": ("float64", 8), "bool": ("bool", 1),
         **{f"{sign[0]}{bits}": (f"{sign}{bits}", bits // 8)
            for sign in ("int", "uint") for bits in (8, 16, 32, 64)}}


def type_of(word):
    """PyTorch's type; older versions lack some unsigned integers."""
    found = getattr(torch, TYPES[word][0], None)
    if found is None:
        raise Refused(f"PyTorch {torch.__version__} has no type {word}", "infeasible")
    return found


def width_of(word):
    return TYPES[word][1]


def is_whole(word):
    return "int" in TYPES[word][0] or word == "bool"


def same_bits(a, b):
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def difference(a, b):
    """The norm of a - b over the norm of b; infinite for a NaN."""
    a, b = a.float(), b.float()
    part = float((a - b).norm()) / max(float(b.norm()), 1e-30)
    return part if math.isfinite(part) else math.inf


def captured(warm_up, warm_ups, work, times):
    """A graph of `times` runs of the work. Libraries settle in the warm-ups, on a stream apart."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(warm_ups):
            warm_up()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            work()
    return graph


def timed(*works):
    """Microseconds of each work between events, one after the other. The device is kept waiting
    while Python queues them, so that Python's own time is no part of the result."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(1 + len(works))]
    if hasattr(torch.cuda, "_sleep"):
        torch.cuda._sleep(HIDE_CYCLES)
    events[0].record()
    for work, end in zip(works, events[1:]):
        work()
        end.record()
    events[-1].synchronize()
    return [begin.elapsed_time(end) * 1e3 for begin, end in zip(events, events[1:])]


def shortest(work, times):
    """Microseconds of the shortest of some single runs."""
    return min(timed(work)[0] for _ in range(times))
