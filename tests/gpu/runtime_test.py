#!/usr/bin/env python3
"""runtime_test.py: Checks results and speed of exported kernels in libfatune_rt on a GPU.

    runtime_test.py --fatune PATH --build build/dev [--out FILE]     all of it
    runtime_test.py --build build/rt --wisdom FOLDER --prepare       only builds, on a machine without a GPU
    runtime_test.py --build build/rt --wisdom FOLDER [--out FILE]    only runs what was prepared

The wisdom is that of committed results (the mission and decoding suites; the kernels' texts may have changed since) and of a
kernel with lse, also for packed tensors. The program is examples/runtime, which checks each kernel at its own problem. Kernels of contiguous tensors are also
checked with batches as heads, and with twice the batches, in a CUDA graph. If --build has bench_runtime, its limits are checked,
too: less than 2 us added to a bare launch, less than 50 ms to open 100 kernels.
"""
import argparse
import ctypes
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

from gpu_support import SKIPPED, Checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "runtime"
RESULTS = [ROOT / "results/h200/suite-mission-contiguous/best.json", ROOT / "results/h200/suite-decode/best.json"]
WITH_LSE = ["--unverified", "--config", str(ROOT / "tests/data/cli/fa_mma.json"), "--arch", "sm_90a", "--shape",
            "4,8,512,64", "--dtype", "bf16", "--causal", "--lse"]
PACKED = [*WITH_LSE, "--layout", "packed"]
MOST_ADDED_NS = 2000
MOST_OPEN_MS = 50


def run(*line):
    done = subprocess.run([str(word) for word in line], capture_output=True, text=True, timeout=500, check=False)
    return done.returncode, done.stdout, done.stderr


def must_run(*line):
    code, out, err = run(*line)
    if code != 0:
        sys.exit(f"{' '.join(map(str, line))}\nexit {code}\n{out}{err}")
    return out


def has_gpu():
    try:
        return ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    except OSError:
        return False


def export(fatune, folder):
    for options in (["--unverified", *map(str, RESULTS)], WITH_LSE, PACKED):
        must_run(fatune, "export", *options, "--to", "wisdom", "-o", folder)


def build_example(build):
    """Beside the library, which it finds there wherever both are copied."""
    library = build / "src" / "runtime"
    program = library / "attention"
    sources = [EXAMPLE / name for name in ("attention.c", "gpu.c", "reference.c")]
    must_run("cc", "-std=c99", "-O2", f"-I{ROOT / 'src' / 'runtime'}", *sources, f"-L{library}", "-lfatune_rt", "-ldl",
             "-lm", "-Wl,-rpath,$ORIGIN", "-o", program)
    return program


def check_kernels(checks, program, wisdom):
    """The rows of the example's table, as dictionaries."""
    code, out, err = run(program, wisdom)
    print(out + err)
    rows = []
    for line in out.splitlines()[2:]:
        words = line.split()
        fit = next((i for i, word in enumerate(words) if word in ("exact", "regrouped", "repeated")), None)
        if fit is None:
            continue
        launches, error, hot, tuned, verdict = words[fit + 1:fit + 6]
        problem = " ".join(words[:fit - 1])
        rows.append({"problem": problem, "kernel": words[fit - 1], "fit": words[fit], "launches": int(launches),
                     "largest_error": float(error), "hot_us": float(hot), "tuned_us": None if tuned == "-" else float(tuned), "verdict": verdict})
        checks.expect(verdict == "right", line)
    checks.expect(code == 0, f"the example's exit code is {code}: {err}")
    for fit in ("exact", "regrouped", "repeated"):
        checks.expect(any(row["fit"] == fit for row in rows), f"no kernel was fitted {fit}")
    checks.expect(any("strided" in row["problem"] for row in rows), "no kernel ran on tensors that are not contiguous")
    return rows


def timed_kernels(wisdom):
    """Indices of the mission's kernel, of the smallest one, and of one with two stages and scratch."""
    kernels = list(enumerate(json.loads((wisdom / "index.json").read_text())["kernels"]))
    sizes = ("batch", "heads", "seq_q", "seq_kv", "head_dim")
    mission = [index for index, each in kernels
               if [each["problem"][size] for size in sizes] == [4, 8, 512, 512, 64] and each["problem"]["mask"] == "none"]
    smallest = min(kernels, key=lambda pair: math.prod(pair[1]["problem"][size] for size in sizes))[0]
    staged = [index for index, each in kernels if len(each["stages"]) > 1]
    return [mission[0], smallest, staged[0]]


def check_speed(checks, bench, wisdom):
    documents = []
    for index in timed_kernels(wisdom):
        code, out, err = run(bench, wisdom, index)
        print(out + err)
        checks.expect(code == 0, f"bench_runtime {index}: exit {code}: {err}")
        if code != 0:
            continue
        document = json.loads(out)
        documents.append(document)
        for way in ("launch", "find_and_launch", "find_and_launch_new_maps"):
            added = document["launch"][f"{way}_added_ns"]
            checks.expect(added < MOST_ADDED_NS, f"{way} of {document['launch']['problem']} adds {added} ns")
        opened = document["open_many"]["median_ms"]
        checks.expect(opened < MOST_OPEN_MS, f"opening 100 kernels takes {opened} ms")
    return documents


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", help="exports the wisdom; not needed when --wisdom is there")
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--wisdom", type=pathlib.Path)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, help="JSON with all that was seen")
    args = parser.parse_args()
    if not args.prepare and not has_gpu():
        print("skipped: no GPU")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        wisdom = args.wisdom or pathlib.Path(folder) / "wisdom"
        if not (wisdom / "index.json").exists():
            export(args.fatune or parser.error("--fatune is needed to export the wisdom"), wisdom)
        program = args.build / "src" / "runtime" / "attention"
        if args.prepare or not program.exists():
            program = build_example(args.build)
        if args.prepare:
            print(f"prepared: {program}, {wisdom}")
            return
        checks = Checks()
        document = {"kernels": check_kernels(checks, program, wisdom)}
        bench = args.build / "bench_runtime"
        if os.access(bench, os.X_OK):
            document["speed"] = check_speed(checks, bench, wisdom)
        if args.out:
            args.out.write_text(json.dumps(document, indent=2) + "\n")
        checks.finish()


if __name__ == "__main__":
    main()
