"""in_model.py - do the steps of models change by what fatune's times in a layer say, when other attention does them?

    fatune sweep --suite examples/in_layer/in_model.json --baselines torch:flash,torch:cudnn --out runs/in_model
    fatune export runs/in_model --to torch -o sdpa.py
    python3 examples/in_layer/in_model.py sdpa.py --best runs/in_model/best.json [--json FILE]

For each model of MODELS that the files know by name: transformers builds it with random weights and a few layers. Its
forward pass is captured in CUDA graphs, which take turns as in in_layer.py. One has the exported function, one a fixed
tensor in place of attention's output, the others PyTorch's backends that have a time in the files. The model hands over no mask where attention is full or causal. Columns have times of attention in a layer. `step`: net time; `in_layer`:
time of the files; `profiler`: time of the kernels that a replay without attention lacks (with the wait of a kernel that
begins early). Each cell is the backend's time less the exported function's; `off` is by how much in_layer's difference misses the
step's, in per cent of the backend's time in the step.
Exit code 1: one is off by more than 5 %, or a model failed.
"""
import argparse
import json
import math
import pathlib
import random
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import in_layer
from in_layer import BACKENDS, DTYPES, OURS

MOST_OFF = 0.05
PROFILED = 5  # replays
SWITCH = "fatune_switch"
MODELS = {  # by the problem's name: the config's class, and what is not its default
    "bert-base": ("BertConfig", {}),
    "vit-l16": ("ViTConfig", {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16}),
    "gpt2-medium": ("GPT2Config", {"n_embd": 1024, "n_head": 16, "n_layer": 12}),
    "llama-3-8b-prefill": ("LlamaConfig", {
        "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_hidden_layers": 4, "max_position_embeddings": 8192}),
    "qwen2.5-7b-prefill": ("Qwen2Config", {
        "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_key_value_heads": 4,
        "num_hidden_layers": 4}),
    "whisper-large-encoder": ("WhisperConfig", {
        "d_model": 1280, "encoder_attention_heads": 20, "encoder_ffn_dim": 5120, "encoder_layers": 8,
        "decoder_attention_heads": 20, "num_mel_bins": 128}),
}


class Switch:
    """Stands for the attention of all models; without their masks, which say no more than the problem does."""

    attention = None

    def __call__(self, module, query, key, value, attention_mask, **_):
        return self.attention(query, key, value).transpose(1, 2), None


switch = Switch()


def said_by(files):
    """By the problem's name: the problem, its best kernel and config, and times in a layer by implementation."""
    said = {}
    for file in files:
        for entry in json.loads(file.read_text(encoding="utf-8"))["problems"]:
            if entry.get("name") not in MODELS:
                continue
            best = entry["best"] or {}
            rows = {row["impl"].removeprefix("torch:"): row for row in entry["baselines"]
                    if row["impl"].startswith("torch:")}
            rows = {OURS: best, **{name: rows[name] for name in BACKENDS if name in rows}}
            times = {name: row["in_layer"]["median_us"] for name, row in rows.items() if "in_layer" in row}
            said[entry["name"]] = {"problem": entry["problem"], "in_layer_us": times,
                                   **{part: best.get(part) for part in ("kernel", "config")}}
    return said


def built(name, dtype):
    import transformers

    transformers.AttentionInterface.register(SWITCH, switch)
    kind, sizes = MODELS[name]
    config = getattr(transformers, kind)(**sizes)
    config.use_cache = False
    with torch.device("cuda"):
        model = transformers.AutoModel.from_config(config, attn_implementation=SWITCH)
    if kind == "WhisperConfig":
        model = model.encoder
        for layer in model.layers:  # scales queries itself; attention does it here, as everywhere else
            layer.self_attn.scaling = 1.0
    return model.to("cuda", dtype).eval()


def inputs_of(model, batch, seq, dtype):
    name, make = model.main_input_name, {"device": "cuda", "dtype": dtype}
    if name == "pixel_values":
        return {name: torch.randn(batch, 3, model.config.image_size, model.config.image_size, **make)}
    if name == "input_features":
        return {name: torch.randn(batch, model.config.num_mel_bins, 2 * seq, **make)}
    return {name: torch.randint(model.config.vocab_size, (batch, seq), device="cuda")}


class Step:
    """The forward pass of a model."""

    def __init__(self, name, problem):
        dtype = DTYPES[problem["dtype"]]
        self.model = built(name, dtype)
        self.inputs = inputs_of(self.model, problem["batch"], problem["seq_q"], dtype)
        self.options = {"is_causal": problem["mask"] == "causal", "enable_gqa": problem["heads"] != problem["kv_heads"]}

    def run(self, attention):
        switch.attention = attention
        return self.model(**self.inputs)

    def calls(self):
        """q, k and v of the first call, and how many there are."""
        first, count = [], 0

        def attention(q, k, v):
            nonlocal count
            count += 1
            first.extend(() if first else (q, k, v))
            return F.scaled_dot_product_attention(q, k, v, **self.options)

        self.run(attention)
        return first, count


def check(module, said, tensors, options):
    """Raises where the model's attention is not the problem's, or the exported function would not do it."""
    if OURS not in said["in_layer_us"] or len(said["in_layer_us"]) < 2:
        raise ValueError(f"--best has times in a layer of {list(said['in_layer_us'])} only")
    p = said["problem"]
    key = (p["batch"], p["kv_heads"], p["seq_kv"], p["head_dim"])
    shapes = [tuple(tensor.shape) for tensor in tensors]
    if shapes != [(p["batch"], p["heads"], p["seq_q"], p["head_dim"]), key, key]:
        raise ValueError(f"the model's q, k and v are {shapes}")
    kernels = [facts for facts in module.info()
               if all(facts[part] == said[part] for part in ("problem", "kernel", "config"))]
    if not kernels:
        raise ValueError("the exported file has not the kernel of the times in a layer")
    if any(tensor.stride() != tuple(kernels[0]["strides"][name]) for name, tensor in zip("qkv", tensors)):
        raise ValueError(f"the model's strides are {[tensor.stride() for tensor in tensors]}")
    found = in_layer.faults(module, *tensors, options)
    if found:
        raise ValueError("; ".join(found))


def measure(module, name, said, chance, limit_s):
    """A row of times, and graphs for the profiler."""
    step = Step(name, said["problem"])
    tensors, layers = step.calls()
    check(module, said, tensors, step.options)
    still = torch.empty_like(tensors[0]).normal_()
    run_without = lambda: step.run(lambda q, k, v: still)
    passes = in_layer.passes_of(run_without)
    backends = [each for each in said["in_layer_us"] if each != OURS]
    graphs = in_layer.graphs_of(module, step.options, step.run, passes, backends)
    if len(graphs) < 2:
        raise RuntimeError(f"PyTorch does it with none of {backends}")
    without = in_layer.graph_of(run_without, passes)
    net, left_out = in_layer.rounds_of(graphs, without, chance, limit_s)
    if not net[OURS]:
        raise RuntimeError(f"no round kept still of {left_out}")
    calls = layers * passes
    net_us = {each: [net_us / calls for net_us in times] for each, times in net.items()}
    row = {"model": name, "problem": problem_text(said["problem"]), "layers": layers, "rounds": len(net[OURS]),
           "rounds_left_out": left_out, **compared(said["in_layer_us"], net_us)}
    return row, {"graphs": graphs, "without": without, "calls": calls, "step": step}


def compared(in_layer_us, net_us):
    """Times in a layer with those in the step, a list of rounds each, by implementation."""
    times = {name: {"in_layer_us": in_layer_us[name], "step_us": statistics.median(rounds)}
             for name, rounds in net_us.items()}
    against = {}
    for name in (each for each in net_us if each != OURS):
        apart = [theirs - ours for theirs, ours in zip(net_us[name], net_us[OURS])]
        step_us = statistics.median(apart)
        off_us = in_layer_us[name] - in_layer_us[OURS] - step_us
        against[name] = {"step_us": step_us, "step_ci95_us": in_layer.interval(apart),
                         "off": off_us / times[name]["step_us"]}
    return {"times": times, "against": against}


def problem_text(p):
    text = in_layer.name_of((p["batch"], p["heads"], p["kv_heads"], p["seq_q"], p["head_dim"], p["dtype"],
                             p["mask"] == "causal"))
    return f"{text} {p.get('layout', 'bhsd')}"


def kernels_of(graph):
    """Launches, and microseconds of all of them, by kernel, in a replay."""
    from torch.profiler import ProfilerActivity, profile

    graph.replay()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(PROFILED):
            graph.replay()
        torch.cuda.synchronize()
    found = {event.key: (event.count / PROFILED, event.self_device_time_total / PROFILED)
             for event in profiler.key_averages() if event.device_type == torch.autograd.DeviceType.CUDA}
    if not found:
        raise RuntimeError("the profiler saw no kernel")
    return found


def add_kernel_times(row, kept):
    """Adds profiler times of the launches that a replay without attention does not have."""
    others = kernels_of(kept["without"])
    for name, graph in kept["graphs"].items():
        more = {key: (count - others.get(key, (0, 0))[0], us / count) for key, (count, us) in kernels_of(graph).items()}
        more = {key: (count, each_us) for key, (count, each_us) in more.items() if count > 0}
        row["times"][name]["kernels"] = {key: count / kept["calls"] for key, (count, _) in more.items()}
        row["times"][name]["kernel_us"] = sum(count * each_us for count, each_us in more.values()) / kept["calls"]


def difference(times, name, which):
    if which not in times[name] or which not in times[OURS]:
        return "-"
    theirs, ours = times[name][which], times[OURS][which]
    return f"{theirs:.1f} - {ours:.1f} = {theirs - ours:.1f}"


def lines_of(row):
    if "failed" in row:
        return [f"| {row['model']} | failed: {row['failed']} |"]
    return [f"| {row['model']} | {row['problem']} | {name} | {difference(row['times'], name, 'in_layer_us')} | "
            f"{difference(row['times'], name, 'step_us')} | {difference(row['times'], name, 'kernel_us')} | "
            f"{found['off']:+.1%}{' !' if abs(found['off']) > MOST_OFF else ''} |"
            for name, found in row["against"].items()]


def reason(error):
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or ['no reason given'])[0]}"


def measure_all(module, said, args, write):
    """Rows; the profiler comes last: it may slow down what is timed behind it."""
    rows, kept, end = [], [], time.monotonic() + args.limit_s
    chance = random.Random(args.seed)
    for i, (name, of_name) in enumerate(said.items()):
        left_s = end - time.monotonic()
        try:
            if left_s <= 0:
                raise TimeoutError("no time was left (--limit-s)")
            row, graphs = measure(module, name, of_name, chance, left_s / (len(said) - i))
            kept.append((row, graphs))
        except Exception as error:  # the others may do
            row = {"model": name, "failed": reason(error)}
        rows.append(row)
        print(*lines_of(row), sep="\n", file=sys.stderr, flush=True)
        write(rows)
    for row, graphs in kept:
        try:
            add_kernel_times(row, graphs)
        except Exception as error:
            print(f"{row['model']}: no kernel times: {reason(error)}", file=sys.stderr)
        write(rows)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="written by fatune export --to torch")
    parser.add_argument("--best", nargs="+", required=True, type=pathlib.Path, help="best.json or suite.json")
    parser.add_argument("--models", help="only these, with commas between")
    parser.add_argument("--json", type=pathlib.Path, help="where the numbers are kept")
    parser.add_argument("--limit-s", type=float, default=300, help="for all that is timed (300)")
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("in_model.py needs a GPU that PyTorch can use")
    said = said_by(args.best)
    said = {name: said[name] for name in (args.models.split(",") if args.models else MODELS) if name in said}
    if not said:
        sys.exit(f"--best: no problem has one of these names: {', '.join(MODELS)}")
    torch.manual_seed(args.seed)
    facts = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
             "cudnn": torch.backends.cudnn.version()}

    def write(rows):
        if args.json:
            args.json.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n", encoding="utf-8")

    with torch.no_grad():
        rows = measure_all(in_layer.load(args.files), said, args, write)
    print(f"{facts['device']}, PyTorch {facts['torch']}; microseconds a layer, the backend's less the exported's\n")
    print("| model | problem | backend | in_layer | step | profiler | off |\n|---|---|---|---:|---:|---:|---:|")
    print(*(line for row in rows for line in lines_of(row)), sep="\n")
    off = [found["off"] for row in rows if "failed" not in row for found in row["against"].values()]
    return 1 if any("failed" in row for row in rows) or any(abs(each) > MOST_OFF for each in off) else 0


if __name__ == "__main__":
    sys.exit(main())
