"""in_layer.py - exported attention where programs have it, between two matrix products, against PyTorch's backends.

    fatune sweep --suite mission --layout packed --out runs/packed
    fatune export runs/packed --to torch -o sdpa.py
    python3 examples/in_layer/in_layer.py sdpa.py [MORE.py ...] [--json FILE]

For each problem of the files: a CUDA graph of 16 layers with weights of their own. A layer is a norm, a product that
leaves packed q, k and v (batch, seq, heads + 2 kv_heads, head_dim), attention on these parts as views, transpose and
reshape, and a product. Attention's net time is the layer's, less that of a layer with q in place of attention's output.
A round times every implementation once, in random order, between two times of the layer without; rounds in which these
differ by more than 0.5 % are left out. Shown are medians, and the ratio to the best backend with its 95 % interval.
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

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

LAYERS = 16
ROUNDS = 40
REPLAYED_US = 4000  # chosen: of one timing
STILL = 0.005  # of the time without attention, which may move so much in a round
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION}
OURS = "exported"
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
LIMITS = {"f16": 4e-3, "bf16": 2e-2}  # of the difference of two correct results, relative in the Euclidean norm


def load(files):
    """The last file; they share their kernels."""
    module = None
    for i, file in enumerate(files):
        spec = importlib.util.spec_from_file_location(f"exported_{i}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def problems(module):
    """What packed q, k and v can have: one length; each once."""
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


class Layers:
    """Inputs and weights of a problem."""

    def __init__(self, problem):
        self.batch, self.heads, kv_heads, self.seq, self.dim, dtype, self.causal = problem
        self.counts = (self.heads, kv_heads, kv_heads)
        self.options = {"is_causal": self.causal, "enable_gqa": self.heads != kv_heads}
        width, make = self.heads * self.dim, {"device": "cuda", "dtype": DTYPES[dtype]}
        self.x = torch.randn(self.batch * self.seq, width, **make)
        self.weights = [(torch.randn(sum(self.counts) * self.dim, width, **make) * width ** -0.5,
                         torch.randn(width, width, **make) * width ** -0.5) for _ in range(LAYERS)]

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


def graph_of(run):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def layer_us(graph, replays):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    graph.replay()
    start.record()
    for _ in range(replays):
        graph.replay()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3 / replays / LAYERS


def rounds_of(graphs, none, chance):
    """Net times by implementation, one a round that kept still; and how many did not."""
    replays = max(1, min(20, math.ceil(REPLAYED_US / LAYERS / layer_us(none, 5))))
    net, moved = {name: [] for name in graphs}, 0
    for _ in range(ROUNDS):
        before = layer_us(none, replays)
        times = {name: layer_us(graphs[name], replays) for name in chance.sample(list(graphs), len(graphs))}
        without = (before + layer_us(none, replays)) / 2
        if abs(before - without) * 2 > STILL * without:
            moved += 1
            continue
        for name, time in times.items():
            net[name].append(time - without)
    return net, moved


def interval(values):
    """The median's, 95 %, by order statistics."""
    ordered, reach = sorted(values), 0.98 * math.sqrt(len(values))
    low, high = math.floor(len(values) / 2 - reach), math.ceil(len(values) / 2 + reach)
    return ordered[max(low, 0)], ordered[min(high, len(values) - 1)]


def faults(module, layers, problem):
    """What is wrong with the exported function on parts of a packed tensor."""
    q, k, v = layers.parts(layers.x, layers.weights[0][0])
    said = module.explain(q, k, v, **layers.options)
    out, theirs = (f(q, k, v, **layers.options) for f in (module.sdpa, F.scaled_dot_product_attention))
    error = (torch.linalg.vector_norm(out.float() - theirs.float()) / torch.linalg.vector_norm(theirs.float())).item()
    found = [said] if said.startswith("PyTorch") else []
    if not error <= LIMITS[problem[5]]:
        found.append(f"differs by {error:.1e}")
    if not out.transpose(1, 2).is_contiguous():
        found.append(f"strides {out.stride()}")
    return found


def measure(module, problem, chance):
    layers = Layers(problem)
    row = {"problem": name_of(problem), "faults": faults(module, layers, problem)}
    graphs = {OURS: graph_of(lambda: layers.run(lambda q, k, v: module.sdpa(q, k, v, **layers.options)))}
    for name, which in BACKENDS.items():
        try:
            graphs[name] = graph_of(lambda: layers.run(backend(which, layers.options)))
        except RuntimeError:  # this backend does not do it
            torch.cuda.synchronize()
    net, row["rounds_left_out"] = rounds_of(graphs, graph_of(lambda: layers.run(lambda q, k, v: q)), chance)
    if not net[OURS]:
        row["faults"].append("no round kept still: is something else running?")
        return row
    row["net_us"] = {name: statistics.median(times) for name, times in net.items()}
    best = min((name for name in net if name != OURS), key=row["net_us"].get)
    ratios = [ours / theirs for ours, theirs in zip(net[OURS], net[best])]
    row.update(best=best, ratio=statistics.median(ratios), ratio_ci95=interval(ratios))
    if row["ratio"] > 1:
        row["faults"].append("slower than the best backend")
    return row


def text_of(row):
    times = [f"{row['net_us'][name]:.1f}" if name in row.get("net_us", {}) else "-" for name in (*BACKENDS, OURS)]
    ratio = "{:.2f} ({:.2f} to {:.2f})".format(row["ratio"], *row["ratio_ci95"]) if "ratio" in row else "-"
    cells = [row["problem"], *times, ratio, str(row["rounds_left_out"]), "; ".join(row["faults"])]
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
    print(f"| problem | {' | '.join((*BACKENDS, OURS))} | to the best backend | rounds left out | faults |")
    print("|---|" + "---:|" * (len(BACKENDS) + 3) + "---|")
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
