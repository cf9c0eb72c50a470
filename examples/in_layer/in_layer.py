"""in_layer.py - exported attention where programs have it, between two matrix products, against PyTorch's backends.

    fatune sweep --suite mission --layout packed --out runs/packed
    fatune export runs/packed --to torch -o sdpa.py
    python3 examples/in_layer/in_layer.py sdpa.py [MORE.py ...] [--json FILE]

For each problem of the files: a CUDA graph of layers with weights of their own, and the same without attention. A layer
is a norm, a product, attention, transpose and reshape, and a product. The first product leaves packed q, k and v (batch,
seq, heads + 2 kv_heads, head_dim); attention takes these parts as views. Timed as docs/measuring.md says ("In a layer"): half a second of layers
first; then rounds, in which every implementation has a turn, in random order. A turn is one queue of replays: without
attention (which does not count), without, with, without; the net time is that with, less the mean of its neighbours. A
turn whose neighbours differ by more than 0.5 % is repeated; rounds with one that stays so are left out for all
implementations. Shown are medians, and the ratio to the best backend with its 95 % interval.
Exit code 1: a result is wrong, not by a kernel, not in the query's memory layout, or slower than the best backend.
"""
import argparse
import importlib.util
import json
import math
import pathlib
import random
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ROUNDS = 40
# As in src/worker/timing/layer.cpp and src/worker/runs/rounds.cpp.
LEAST_LAYERS, MOST_LAYERS = 3, 64
WEIGHTS_OVER_L2 = 2
LAYERS_FLOPS = 6e12  # of attention in all layers
REPLAY_US, MOST_PASSES = 400, 8
SETTLE_S = 0.5
STEADY = 0.005  # of the time without attention, or of attention where that is longer: what may move in a turn
TURN_TRIES, ROUND_TRIES = 6, 2
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION}
OURS = "exported"
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
LIMITS = {torch.float16: 4e-3, torch.bfloat16: 2e-2}  # of how two right results differ, in the Euclidean norm


def load(files):
    """The last file; they share their kernels."""
    module = None
    for i, file in enumerate(files):
        spec = importlib.util.spec_from_file_location(f"exported_{i}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def problems(module):
    """Distinct problems with one length for queries and keys, as packed q, k and v need."""
    found = {}
    for facts in module.info():
        p = facts["problem"]
        if p["seq_q"] == p["seq_kv"]:
            found[(p["batch"], p["heads"], p["kv_heads"], p["seq_q"], p["head_dim"], p["dtype"],
                   p["mask"] == "causal")] = True
    return list(found)


def name_of(problem):
    batch, heads, kv_heads, seq, dim, dtype, causal = problem
    heads = heads if heads == kv_heads else f"{heads}/{kv_heads}"
    return f"{batch},{heads},{seq},{dim} {dtype}{' causal' if causal else ''}"


def layers_of(problem):
    """As many as have weights of twice the L2 cache, unless attention takes long."""
    batch, heads, kv_heads, seq, dim, _, causal = problem
    weight_bytes = 2 * (2 * heads + 2 * kv_heads) * dim * heads * dim
    wanted = math.ceil(WEIGHTS_OVER_L2 * torch.cuda.get_device_properties(0).L2_cache_size / weight_bytes)
    flops = 4 * batch * heads * seq * seq * dim / (2 if causal else 1)
    return max(LEAST_LAYERS, min(MOST_LAYERS, wanted, int(LAYERS_FLOPS / flops)))


class Layers:
    """Inputs and weights of a problem."""

    def __init__(self, problem):
        self.batch, self.heads, kv_heads, self.seq, self.dim, dtype, self.causal = problem
        self.counts = (self.heads, kv_heads, kv_heads)
        self.options = {"is_causal": self.causal, "enable_gqa": self.heads != kv_heads}
        width, make = self.heads * self.dim, {"device": "cuda", "dtype": DTYPES[dtype]}
        self.x = torch.randn(self.batch * self.seq, width, **make)
        self.weights = [(torch.randn(sum(self.counts) * self.dim, width, **make) * width ** -0.5,
                         torch.randn(width, width, **make) * width ** -0.5) for _ in range(layers_of(problem))]
        self.still = torch.randn(self.batch, self.seq, self.heads, self.dim, **make).transpose(1, 2)

    def parts(self, x, weight):
        whole = F.linear(F.layer_norm(x, x.shape[-1:]), weight).view(self.batch, self.seq, sum(self.counts), self.dim)
        return [part.transpose(1, 2) for part in whole.split(self.counts, dim=2)]

    def run(self, attention):
        x = self.x
        for before, behind in self.weights:
            out = attention(*self.parts(x, before))
            x = F.linear(out.transpose(1, 2).reshape(self.batch * self.seq, -1), behind)
        return x


def backend(which, options):
    def attention(q, k, v):
        with sdpa_kernel(which):
            return F.scaled_dot_product_attention(q, k, v, **options)
    return attention


def graph_of(run, passes=1):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(passes):
            run()
    return graph


def times_us(*graphs):
    """Times of replays queued one behind the other; the host waits for the last one only."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(len(graphs) + 1)]
    events[0].record()
    for graph, end in zip(graphs, events[1:]):
        graph.replay()
        end.record()
    events[-1].synchronize()
    return [begin.elapsed_time(end) * 1e3 for begin, end in zip(events, events[1:])]


def passes_of(run):
    """In a graph, so that a replay is long against the jitter of events."""
    graph = graph_of(run)
    return max(1, min(MOST_PASSES, math.ceil(REPLAY_US / times_us(graph, graph)[1])))


def turn(graph, without):
    """The net time of a replay; None where what is subtracted does not keep still."""
    for _ in range(TURN_TRIES):
        _, before, within, behind = times_us(without, without, graph, without)
        net = within - (before + behind) / 2
        if abs(behind - before) <= STEADY * max(before, net):
            return net
    return None


def round_of(graphs, without, chance):
    """Net times by implementation; None where one has none."""
    net = {}
    for name in chance.sample(list(graphs), len(graphs)):
        net[name] = turn(graphs[name], without)
        if net[name] is None:
            return None
    return net


def rounds_of(graphs, without, chance, limit_s=math.inf):
    """Net times of a replay by implementation, one a steady round; and how many rounds were left out."""
    begin = time.monotonic()
    while time.monotonic() - begin < SETTLE_S:
        times_us(without, without, without, without)
    kept, tried = [], 0
    while len(kept) < ROUNDS and tried < ROUND_TRIES * ROUNDS and time.monotonic() - begin < limit_s:
        tried += 1
        net = round_of(graphs, without, chance)
        if net is not None:
            kept.append(net)
    return {name: [net[name] for net in kept] for name in graphs}, tried - len(kept)


def interval(values):
    """The median's, 95 %, by order statistics."""
    ordered, reach = sorted(values), 0.98 * math.sqrt(len(values))
    low, high = math.floor(len(values) / 2 - reach), math.ceil(len(values) / 2 + reach)
    return ordered[max(low, 0)], ordered[min(high, len(values) - 1)]


def faults(module, q, k, v, options):
    """Faults of the exported function on these tensors."""
    said = module.explain(q, k, v, **options)
    out, theirs = (f(q, k, v, **options) for f in (module.sdpa, F.scaled_dot_product_attention))
    error = (torch.linalg.vector_norm(out.float() - theirs.float()) / torch.linalg.vector_norm(theirs.float())).item()
    found = [said] if said.startswith("PyTorch") else []
    if not error <= LIMITS[q.dtype]:
        found.append(f"differs by {error:.1e}")
    if out.stride() != torch.empty_like(q).stride():
        found.append(f"strides {out.stride()}")
    return found


def graphs_of(module, options, run, passes, backends):
    """By implementation, of `run` with its attention; without the backends that do not do it."""
    graphs = {OURS: graph_of(lambda: run(lambda q, k, v: module.sdpa(q, k, v, **options)), passes)}
    for name in backends:
        try:
            graphs[name] = graph_of(lambda: run(backend(BACKENDS[name], options)), passes)
        except RuntimeError:
            torch.cuda.synchronize()
    return graphs


def measure(module, problem, chance):
    layers = Layers(problem)
    row = {"problem": name_of(problem), "layers": len(layers.weights),
           "faults": faults(module, *layers.parts(layers.x, layers.weights[0][0]), layers.options)}
    run_without = lambda: layers.run(lambda q, k, v: layers.still)
    passes = passes_of(run_without)
    graphs = graphs_of(module, layers.options, layers.run, passes, BACKENDS)
    net, row["rounds_left_out"] = rounds_of(graphs, graph_of(run_without, passes), chance)
    if not net[OURS]:
        row["faults"].append("no round kept still: is something else running?")
        return row
    row["net_us"] = {name: statistics.median(times) / passes / row["layers"] for name, times in net.items()}
    best = min((name for name in net if name != OURS), key=row["net_us"].get)
    ratios = [ours / theirs for ours, theirs in zip(net[OURS], net[best])]
    row.update(best=best, ratio=statistics.median(ratios), ratio_ci95=interval(ratios))
    if row["ratio"] > 1:
        row["faults"].append("slower than the best backend")
    return row


def text_of(row):
    times = [f"{row['net_us'][name]:.1f}" if name in row.get("net_us", {}) else "-" for name in (*BACKENDS, OURS)]
    ratio = "{:.2f} ({:.2f} to {:.2f})".format(row["ratio"], *row["ratio_ci95"]) if "ratio" in row else "-"
    cells = [row["problem"], str(row["layers"]), *times, ratio, str(row["rounds_left_out"]), "; ".join(row["faults"])]
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="written by fatune export --to torch")
    parser.add_argument("--json", type=pathlib.Path, help="where the numbers are kept")
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("in_layer.py needs a GPU that PyTorch can use")
    torch.manual_seed(args.seed)
    module, chance = load(args.files), random.Random(args.seed)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}; "
          f"net microseconds of attention in a layer, medians of {ROUNDS} rounds\n")
    print(f"| problem | layers | {' | '.join((*BACKENDS, OURS))} | to the best backend | rounds left out | faults |")
    print("|---|" + "---:|" * (len(BACKENDS) + 4) + "---|")
    rows = []
    with torch.no_grad():
        for problem in problems(module):
            rows.append(measure(module, problem, chance))
            print(text_of(rows[-1]), flush=True)
    if args.json:
        args.json.write_text(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                                         "cudnn": torch.backends.cudnn.version(), "rows": rows}, indent=1) + "\n",
                             encoding="utf-8")
    return 1 if any(row["faults"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
