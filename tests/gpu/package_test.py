"""package_test.py: Measures capture and calls of installed functions on a GPU.

Captures a model of 24 layers, tunes its attention and installs the kernel. Prints the seconds that capture adds to the
runs. Prints microseconds a call by the installed function and by PyTorch, in turns, with a kernel for the call and
without. Exit code 77 without PyTorch and a GPU.

    python3 tests/gpu/package_test.py --fatune build/dev/fatune [--json FILE]
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

from gpu_support import SKIPPED, Checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "python")]

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)
if not torch.cuda.is_available() or torch.version.cuda is None:
    print("skipped: PyTorch finds no NVIDIA GPU")
    sys.exit(SKIPPED)

import fatune  # noqa: E402  (its folder is known now)
import models  # noqa: E402

LAYERS = 24
CAPTURE_S = 1.0  # at most, beside the runs
CALLS, TURNS = 200, 21


def seconds(work):
    torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - began


def check_capture(checks, model, x):
    """The step is run twice by a capture."""
    model(x)
    run_s = min(seconds(lambda: model(x)) for _ in range(3))
    began = time.perf_counter()
    suite = fatune.capture(model, x, name="package")
    beside_s = time.perf_counter() - began - 2 * run_s
    print(f"capture of {LAYERS} layers: {beside_s:.3f} s beside its two runs of {1e3 * run_s:.2f} ms")
    checks.expect(beside_s < CAPTURE_S, f"capture takes {beside_s} s")
    checks.expect([call["counts"] for call in suite.calls] == [[LAYERS, LAYERS]], "every call is seen in both runs")
    return suite, beside_s


def call_us(tensors):
    """Calls in a row, as a program makes them: the CPU queues, the GPU may be behind."""
    function = F.scaled_dot_product_attention  # as any program finds it, installed or not
    return 1e6 / CALLS * seconds(lambda: [function(*tensors) for _ in range(CALLS)])


def compare(checks, installed, name, tensors, by_kernel):
    wanted = F.scaled_dot_product_attention(*(each.double() for each in tensors))
    theirs = (F.scaled_dot_product_attention(*tensors).double() - wanted).abs().max()
    with installed.briefly():
        ours = (F.scaled_dot_product_attention(*tensors).double() - wanted).abs().max()
    checks.expect(ours <= 2 * theirs + 1e-4, f"{name}: off by {ours}, PyTorch by {theirs}")
    turns = {"ours": [], "theirs": []}
    for turn in range(TURNS):
        with installed.briefly():
            turns["ours"].append(call_us(tensors))
        turns["theirs"].append(call_us(tensors))
    ours_us, theirs_us = (statistics.median(turns[key]) for key in ("ours", "theirs"))
    print(f"{name}: {ours_us:.2f} us a call, PyTorch {theirs_us:.2f}, {ours_us / theirs_us:.3f}")
    if by_kernel:
        checks.expect(ours_us <= theirs_us, f"{name}: a call takes {ours_us} us, PyTorch's {theirs_us}")
    return {"name": name, "kernel": by_kernel, "us": ours_us, "pytorch_us": theirs_us}


def check_flex(checks, folder):
    """A kernel reads the tensors of flex_attention's functions: other ones, and in a graph those of the replay."""
    from torch.nn.attention import flex_attention as module
    (q, k, v), table = torch.randn(3, 2, 4, 512, 64, device="cuda").half(), torch.randn(4, 1023, device="cuda")
    documents, place = torch.arange(512, device="cuda") // 100, torch.arange(512, device="cuda")

    def blocks(documents):
        return module.create_block_mask(lambda b, h, i, j: documents[i] == documents[j], None, None, 512, 512, device="cuda")

    def step(made):
        return module.flex_attention(q, k, v, block_mask=made, score_mod=lambda s, b, h, i, j: s + table[h, j - i + 511])

    def expect(out, documents, what):
        scores = q.double() @ k.double().transpose(-1, -2) / 8 + table[:, place - place[:, None] + 511]
        wanted = scores.masked_fill(documents[:, None] != documents, -torch.inf).softmax(-1) @ v.double()
        error = (torch.linalg.vector_norm(out - wanted) / torch.linalg.vector_norm(wanted)).item()
        checks.expect(error <= 2e-3, f"flex_attention, {what}: differs by {error:.1e}")

    suite = fatune.capture(lambda: step(blocks(documents)), name="flex")
    result = fatune.tune(suite, out=pathlib.Path(folder) / "flex", budget=20, baselines="none", quiet=True)
    with fatune.install(result) as installed:
        for tensor in (documents, documents.int(), place // 33):
            made = blocks(tensor)
            for _ in range(2):
                expect(step(made), tensor, "called")
        graph, made = torch.cuda.CUDAGraph(), blocks(documents)
        with torch.cuda.graph(graph):
            out = step(made)
        for size in (100, 77):
            documents.copy_(place // size)
            graph.replay()
            expect(out, documents, "in a graph")
        checks.expect((installed.why().served, installed.why().unserved) == (7, 0), str(installed.why()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fatune", required=True, help="the program under test")
    parser.add_argument("--json", type=pathlib.Path, help="write what was measured")
    args = parser.parse_args()
    os.environ["FATUNE"] = str(pathlib.Path(args.fatune).resolve())
    checks = Checks()
    model, x = (each.cuda() for each in models.model_and_input(LAYERS))
    with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        suite, beside_s = check_capture(checks, model, x)
        result = fatune.tune(suite, out=pathlib.Path(folder) / "run", budget=30, baselines="torch:flash", quiet=True)
        with fatune.install(result) as installed:
            model(x)
            checks.expect((installed.why().served, installed.why().unserved) == (LAYERS, 0), str(installed.why()))
        q, k, v = torch.randn(3, *(models.BATCH, models.HEADS, models.TOKENS, models.DIM), device="cuda").half()
        rows = [compare(checks, installed, "contiguous", (q, k, v), True),
                compare(checks, installed, "another length", (q[:, :, :256].contiguous(), k, v), False)]
        for inference in (True, False):
            with torch.inference_mode(inference):
                check_flex(checks, folder)
    if args.json:
        args.json.write_text(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                                         "layers": LAYERS, "capture_s": beside_s, "calls": rows}, indent=1) + "\n",
                             encoding="utf-8")
    checks.finish()


if __name__ == "__main__":
    main()
