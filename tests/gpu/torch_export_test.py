"""torch_export_test.py: Compares `fatune export --to torch` with PyTorch in value and time.

Exports the kernels of committed runs, and some configs in other layouts (or takes --module FILE, an exported file). Runs
30 problems: those of the kernels, and random others that are left to PyTorch. Then checks which kernel a layout gets,
and everything else a program may do (torch_export_cases.py). Prints a table; --json FILE keeps it. Exit code 77 without
PyTorch and a GPU it can use.

    python3 tests/gpu/torch_export_test.py --fatune build/dev/fatune [--json FILE]
"""
import argparse
import importlib.util
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

from gpu_support import SKIPPED, Checks

try:
    import torch
    import torch.nn.functional as F

    import torch_export_cases as cases
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RUNS = ROOT / "results/h200/suite-mission-contiguous"
HOPPER = (9, 0)  # of LAYOUTS
SHAPE = (4, 8, 512, 64)
LAYOUTS = [(ROOT / "results/h200/mission/best.json", "bshd"),
           (ROOT / "tests/data/cli/fa_mma.json", "packed"),
           (ROOT / "tests/data/cli/fa_mma.json", "bhsd,k=524288:65536:128,v=524288:65536:128")]  # parts of rows
CONFIGS = [ROOT / "tests/data/cli/fa_wgmma.json", ROOT / "tests/data/cli/fa_mma.json"]  # of SCORES and EVERY
SCORES = [("--bias", "4,1,1,512:bool"), ("--bias", "1,8,512,512@0:1:4096:8"), ("--bias", "4,1,512,512:f32"),
          ("--softcap", "30"), ("--bias", "1,1,512,512", "--softcap", "5")]
EVERY = [("--mask", "causal+padding:512,9,0,77", "--sink", "--lse"), ("--mask", "causal-window:128", "--sink"),
         ("--causal", "--alibi", "--bias", "4,1,1,512:bool"), ("--mask", "padding-left:300", "--softcap", "30"),
         ("--value-dim", "32", "--causal", "--lse"), ("--mask", "causal && (k < 4 || q - k < 64)", "--score", "score + 0.1 * h")]
NAMED = [(("--mask", "doc[q] == doc[k] && k < left[b]", "--tensor", "doc=i32[512]:0*100,1*400,7*12", "--tensor",
           "left=i32[4]:512,0,77,300"), lambda t, s, b, h, q, k: s.masked_fill((t["doc"][q] != t["doc"][k]) | (k >= t["left"][b]), -math.inf)),
         (("--score", "score + table[h][k - q + 511]", "--tensor", "table=f32[8][1023]"),
          lambda t, s, b, h, q, k: s + t["table"][h, k - q + 511])]
PROBLEMS = 30
SEED = 42
CALLS = 40  # in a graph, and in a row


def imported(file, name):
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def exported(fatune, file, *words):
    subprocess.run([fatune, "export", *words, "--to", "torch", "--unverified", "-o", file], check=True,
                   stdout=subprocess.DEVNULL)
    return file


def load_module(args, folder):
    """The function with the kernels of the runs, and with those of LAYOUTS: files share their kernels."""
    if args.module is not None:
        return imported(args.module, "sdpa")
    if args.fatune is None:
        sys.exit("say --fatune FILE, the program under test, or --module FILE, a file it exported")
    shape = ",".join(map(str, SHAPE))
    for i, (config, layout) in enumerate(LAYOUTS):
        imported(exported(args.fatune, folder / f"layout_{i}.py", "--config", config, "--shape", shape, "--layout",
                          layout, "--arch", "sm_90a"), f"layout_{i}")
    return imported(exported(args.fatune, folder / "sdpa.py", *args.runs), "sdpa")


def problems(module):
    """(batch, heads, kv_heads, seq_q, seq_kv, head_dim, dtype, causal, layout, strides). Problems of the kernels come in
    their own layouts, some with the heads in other batches or rows first in memory. Random ones follow, up to PROBLEMS."""
    chance, listed = random.Random(SEED), []
    for kernel in module.info():
        p = kernel["problem"]
        one = (p["batch"], p["heads"], p["kv_heads"], p["seq_q"], p["seq_kv"], p["head_dim"], p["dtype"],
               p["mask"] == "causal")
        listed.append((*one, p.get("layout", "plain"), kernel["strides"]))
        if p["seq_q"] <= 512 and "layout" not in p and len(listed) < PROBLEMS // 2:
            layout = chance.choice(["rows first", "other batches"])
            if layout == "other batches":
                one = (p["batch"] * p["heads"], 1, 1, *one[3:])
            listed.append((*one, layout, None))
    while len(listed) < PROBLEMS:
        kv_heads = chance.choice([1, 2, 3, 8])
        heads, seq = kv_heads * chance.choice([1, 1, 4]), chance.choice([1, 17, 100, 512, 777, 1024, 2048])
        keys = chance.choice([seq, seq, seq, 512, 1500])
        listed.append((chance.randint(1, 6), heads, kv_heads, seq, keys, chance.choice([32, 64, 80, 128]),
                       chance.choice(["f16", "bf16"]), chance.random() < 0.4, chance.choice(["plain", "rows first"]),
                       None))
    return listed


def make_inputs(problem):
    batch, heads, kv_heads, seq_q, seq_kv, dim, dtype, _, layout, strides = problem
    kind = {"f16": torch.float16, "bf16": torch.bfloat16}[dtype]
    inputs = []
    for name, own_heads, seq in (("q", heads, seq_q), ("k", kv_heads, seq_kv), ("v", kv_heads, seq_kv)):
        shape = (batch, own_heads, seq, dim)
        if layout == "rows first":
            memory = torch.empty(batch, seq, own_heads, dim, device="cuda", dtype=kind).transpose(1, 2)
        elif strides is not None:
            memory = torch.empty_strided(shape, strides[name], device="cuda", dtype=kind)
        else:
            memory = torch.empty(shape, device="cuda", dtype=kind)
        inputs.append(memory.copy_(torch.randn(shape, device="cuda", dtype=kind)))
    return inputs


def check_layouts(module, checks):
    """Which kernel of LAYOUTS a call gets: the exact one, else one that reads through tensor maps; or none."""
    q, k, v = (torch.randn(SHAPE, device="cuda", dtype=torch.float16) for _ in range(3))
    parts, _ = cases.packed((q, k, v))
    laid = [cases.layouts(tensor) for tensor in (q, k, v)]
    half = [torch.randn(*SHAPE[:3], 2 * SHAPE[3], device="cuda", dtype=torch.float16)[..., :64] for _ in range(2)]
    expected = {"packed": (parts, "fa_mma"), "rows first": ([t["rows first"] for t in laid], "fa_wgmma"),
                "half of the heads": ([t["half of the heads"] for t in laid], "fa_wgmma"),
                "keys in half rows": ([q, *half], "fa_mma"),
                "padded rows": ([t["padded rows"] for t in laid], "fa_wgmma"),
                "batches between heads": ([t["batches between heads"] for t in laid], "PyTorch"),
                "unaligned": ([t["an address off by 2 bytes"] for t in laid], "PyTorch")}
    for name, (given, wanted) in expected.items():
        said = module.explain(*given)
        checks.expect(wanted in said, f"{name}: {said}, not {wanted}")
        copies = [tensor.contiguous() if tensor.data_ptr() % 16 == 0 else tensor.clone() for tensor in given]  # see _AlignedCopies
        wrong = cases.close(module.sdpa(*given), F.scaled_dot_product_attention(*copies), f"{name}: ")
        checks.expect(wrong is None, wrong)


def graph_us(call):
    """Microseconds of a call in a graph of many: the median of 7 replays."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    times = []
    for _ in range(8):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e3 / CALLS)
    return statistics.median(times[1:])


def row_us(call):
    """Microseconds of a call among others in a row, by the clock: of Python and of the GPU, whichever takes longer."""
    times = []
    for _ in range(8):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e6 / CALLS)
    return statistics.median(times[1:])


def exact(inputs, options):
    """The result in fp32, head by head so that long sequences fit."""
    q, k, v = (tensor.float() for tensor in inputs)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        parts = [F.scaled_dot_product_attention(q[b:b + 1], k[b:b + 1], v[b:b + 1], **options) for b in range(len(q))]
    return torch.cat(parts)


def measure(module, problem, checks):
    causal = problem[7]
    inputs = make_inputs(problem)
    options = {"is_causal": causal, "enable_gqa": problem[1] != problem[2]}
    ours, theirs = (lambda: module.sdpa(*inputs, **options)), (
        lambda: F.scaled_dot_product_attention(*inputs, **options))
    mask = module._UPPER_LEFT if causal else None
    out = module._attend(*inputs, mask, None, options["enable_gqa"])
    by_kernel = out is not None
    if by_kernel:
        wanted = torch.empty_like(inputs[0])
        checks.expect(cases.steps(out) == cases.steps(wanted), f"{problem}: strides {out.stride()}")
    reference = exact(inputs, options)
    errors = [cases.difference(call(), reference) for call in (ours, theirs)]
    limit = {"f16": 2e-3, "bf16": 1e-2}[problem[6]]
    checks.expect(errors[0] <= max(limit, 1.01 * errors[1]), f"{problem}: differs by {errors[0]:.1e}")
    del reference
    graph, row = [graph_us(call) for call in (ours, theirs)], [row_us(call) for call in (ours, theirs)]
    return {"problem": dict(zip(("batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim", "dtype", "causal"),
                                problem)), "layout": problem[8], "by": "kernel" if by_kernel else "pytorch",
            "relative_error": errors[0], "pytorch_relative_error": errors[1], "graph_us": graph[0],
            "pytorch_graph_us": graph[1], "call_us": row[0], "pytorch_call_us": row[1]}


def changed_scores(q, k, v, bias, softcap):
    """Attention with a bias and a softcap in double precision; rows that see no key are zeros."""
    scores = q.double() @ k.double().transpose(-1, -2) * q.shape[-1]**-0.5
    scores = torch.tanh(scores / softcap) * softcap if softcap else scores
    if bias is not None:
        scores = scores.masked_fill(~bias, -math.inf) if bias.dtype == torch.bool else scores + bias
    return scores.softmax(-1).nan_to_num(0.0) @ v.double()


def check_scores(args, folder, checks):
    """Kernels with a bias or a softcap take any values of the bias, also in a graph."""
    for number, (config, words) in enumerate((config, words) for config in CONFIGS for words in SCORES):
        module = imported(exported(args.fatune, folder / f"scores_{number}.py", "--config", config, "--shape",
                                   ",".join(map(str, SHAPE)), "--arch", "sm_90a", *words), f"scores_{number}")
        kernel, = module._own
        inputs, softcap = cases.tensors_of(kernel.facts), kernel.facts["problem"].get("softcap")
        biases = [module._bias_for(kernel) if kernel.bias else None for _ in range(3)]
        if biases[0] is not None and biases[0].dtype == torch.bool:
            biases[0][0] = False  # of an entry whose queries see no key
        said = module.explain(*inputs, biases[0], softcap=softcap)
        checks.expect(not said.startswith("PyTorch"), f"{words}: {said}")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            replayed = module.sdpa(*inputs, biases[0], softcap=softcap)
        for bias in biases:
            if bias is not None:
                biases[0].copy_(bias)
            graph.replay()
            wanted = changed_scores(*inputs, bias, softcap)
            for out in (module.sdpa(*inputs, bias, softcap=softcap), replayed):
                checks.expect(cases.difference(out, wanted) <= 2e-3, f"{words}: differs by {cases.difference(out, wanted):.1e}")
        print(f"{' '.join(words):56} {said}", flush=True)


def check_every(args, folder, checks):
    """Kernels with other tensors, expressions or V's are what attention() calls, also in a graph."""
    for number, (config, words) in enumerate((config, words) for config in CONFIGS for words in EVERY):
        module = imported(exported(args.fatune, folder / f"every_{number}.py", "--config", config, "--shape",
                                   ",".join(map(str, SHAPE)), "--arch", "sm_90a", *words), f"every_{number}")
        kernel, = module._own
        checks.expect(module._check_every(kernel, list(module._tensors_for(kernel).values())), f"{words}: is wrong")


def check_named(args, folder, checks):
    """Kernels read named tensors at run time, also in a graph."""
    for number, (config, (words, change)) in enumerate((config, each) for config in CONFIGS for each in NAMED):
        module = imported(exported(args.fatune, folder / f"named_{number}.py", "--config", config, "--shape",
                                   ",".join(map(str, SHAPE)), "--arch", "sm_90a", *words), f"named_{number}")
        kernel, = module._own
        (q, k, v), asked = cases.tensors_of(kernel.facts), module._arguments_for(kernel)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            replayed = module.attention(q, k, v, **asked)
        places = [torch.arange(size, device="cuda").view([-1 if i == j else 1 for j in range(4)])
                  for i, size in enumerate((*q.shape[:3], k.shape[2]))]
        for turn in range(3):
            for tensor in asked["tensors"].values():
                tensor.copy_(tensor.roll(turn, -1))
            graph.replay()
            scores = change(asked["tensors"], q.double() @ k.double().transpose(-1, -2) * q.shape[-1]**-0.5, *places)
            wanted = scores.softmax(-1).nan_to_num(0.0) @ v.double()
            for out in (module.attention(q, k, v, **asked), replayed):
                checks.expect(cases.difference(out, wanted) <= 2e-3, f"{words}: differs by {cases.difference(out, wanted):.1e}")
        print(f"{' '.join(words):56} {kernel.facts['kernel']}", flush=True)


def text_of(row):
    p = row["problem"]
    heads = str(p["heads"]) if p["heads"] == p["kv_heads"] else f"{p['heads']}/{p['kv_heads']}"
    seq = str(p["seq_q"]) if p["seq_q"] == p["seq_kv"] else f"{p['seq_q']}x{p['seq_kv']}"
    name = f"{p['batch']},{heads},{seq},{p['head_dim']} {p['dtype']}{' causal' if p['causal'] else ''}"
    errors = f"{row['relative_error']:.1e} {row['pytorch_relative_error']:.1e}"
    times = " ".join(f"{row[key]:10.2f}" for key in ("graph_us", "pytorch_graph_us", "call_us", "pytorch_call_us"))
    return f"{name:28} {row['layout']:13} {row['by']:8} {errors} {times}"


def run_cases(module, checks):
    """For a contiguous kernel whose mask PyTorch can name by is_causal, else the first one."""
    facts = min(module.info(), key=lambda f: ("layout" in f["problem"],
                                              f["problem"]["seq_q"] != f["problem"]["seq_kv"]))
    said = {}
    for name, case in cases.CASES.items():
        try:
            wrong = case(module, facts)
        except Exception as error:
            wrong = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        said[name] = wrong or "ok"
        checks.expect(wrong is None, f"{name}: {wrong}")
        print(f"{name:56} {said[name]}")
    return said


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", help="the program under test")
    parser.add_argument("--runs", nargs="+", default=[str(RUNS)], help="what it exports")
    parser.add_argument("--module", type=pathlib.Path, help="a file exported before")
    parser.add_argument("--json", type=pathlib.Path, help="where the results are kept")
    return parser.parse_args()


def main():
    args = parse_arguments()
    if not torch.cuda.is_available() or torch.version.cuda is None:
        print("skipped: no GPU that PyTorch can use")
        sys.exit(SKIPPED)
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        module = load_module(args, pathlib.Path(folder))
        loaded = module.load()
        torch.manual_seed(SEED)
        print(f"{'problem':28} {'layout':13} {'by':8} {'error':7} {'PyTorch':7} {'graph us':>10} {'PyTorch':>10} "
              f"{'call us':>10} {'PyTorch':>10}")
        rows = []
        for problem in problems(module):
            rows.append(measure(module, problem, checks))
            print(text_of(rows[-1]), flush=True)
        by_kernel = [row for row in rows if row["by"] == "kernel"]
        checks.expect(len(by_kernel) >= loaded, f"only {len(by_kernel)} problems by {loaded} kernels")
        ratio = math.exp(statistics.fmean(math.log(row["graph_us"] / row["pytorch_graph_us"]) for row in by_kernel)
                         ) if by_kernel else None
        if args.module is None and torch.cuda.get_device_capability() == HOPPER:
            check_layouts(module, checks)
            check_scores(args, pathlib.Path(folder), checks)
            check_every(args, pathlib.Path(folder), checks)
            check_named(args, pathlib.Path(folder), checks)
        said = run_cases(module, checks)
        result = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
                  "kernels": loaded, "rows": rows, "graph_ratio_geomean": ratio, "cases": said,
                  "checks": checks.made, "failed": checks.failed}
        print(f"geometric mean of our time over PyTorch's in a graph, {len(by_kernel)} problems by kernels: {ratio}")
        if args.json:
            args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    checks.finish()


if __name__ == "__main__":
    main()
