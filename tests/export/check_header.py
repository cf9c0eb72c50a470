#!/usr/bin/env python3
"""Exports kernels as C headers, builds a program with each under C99 and C++, and compares the driver calls with the launch facts.

  check_header.py --fatune build/dev/fatune --cuda-include DIR

The driver is tests/export/fake_cuda.c, so this needs no GPU; without NVRTC or a C compiler it is skipped (exit code 77).
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SUITES = ROOT / "results" / "h200"
NAIVE = {"kernel": "naive", "config": {"TILE": 16, "ROW_WARPS": 4}}
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-O1"]
# Kernels to export: with tensor maps, clusters, several stages, scratch, log-sum-exp and factors of fp8.
CASES = [
    ["--config", str(SUITES / "mission" / "best.json")],
    ["--config", str(SUITES / "suite-mission-contiguous" / "best.json"), "--shape", "1,8,4096,64", "--causal"],
    ["--config", str(SUITES / "suite-mission-contiguous" / "best.json"), "--shape", "2,8,128,64"],
    ["--config", str(SUITES / "suite-decode" / "best.json"), "--shape", "1,8,1,128", "--seq-kv", "4096"],
    ["--config", "fp8.json", "--shape", "4,8,512,64", "--dtype", "e4m3", "--arch", "sm_90a"],
    ["--config", "naive.json", "--shape", "1,2,64,32", "--dtype", "bf16", "--lse", "--arch", "sm_80"],
]
POINTERS = {"q": 1 << 20, "k": 2 << 20, "v": 3 << 20, "out": 4 << 20, "lse": 5 << 20,
            "q_descale": 7 << 20, "k_descale": 8 << 20, "v_descale": 9 << 20}
SCRATCH = 6 << 20
# Constants of cuda.h: attributes of a function, element types and swizzles of a map.
DYNAMIC_SHARED, CARVEOUT, NON_PORTABLE, MAX_SHARED = 8, 9, 14, 100
ELEMENTS = {"byte": 0, "f16": 6, "bf16": 9}
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
NO_BINARY, INVALID_VALUE = 209, 1


def known_fp8():
    """The fastest known fp8 config of 4,8,512,64."""
    shape = {"batch": 4, "heads": 8, "seq_q": 512, "head_dim": 64, "dtype": "e4m3", "mask": "none"}
    configs = json.loads((ROOT / "configs/known/sm_90a.json").read_text())["configs"]
    return next({"kernel": each["kernel"], "config": each["config"]} for each in configs if shape.items() <= each["problem"].items())


def round_up(size):
    return (size + 255) // 256 * 256


def words(values):
    return " ".join(str(value) for value in values)


class Expected:
    """The calls that launch facts ask for."""

    def __init__(self, facts):
        self.facts = facts
        self.pointers = dict(POINTERS)
        if not facts["problem"].get("lse", False):
            self.pointers["lse"] = 0
        offset = 0
        for scratch in facts["scratch"]:
            self.pointers[scratch["name"]] = SCRATCH + offset
            offset += round_up(scratch["bytes"])
        self.scratch = offset
        self.maps = {each["name"]: each for each in facts["tensor_maps"]}

    def arguments(self):
        return ",".join("".join("m" if name in self.maps else "p" for name in stage["arguments"]) for stage in self.facts["stages"])

    def value(self, name):
        return f"m{self.pointers[self.maps[name]['tensor']]}" if name in self.maps else f"p{self.pointers[name]}"

    def load(self):
        lines = ["load 7f454c46 aligned 1"]
        for number, stage in enumerate(self.facts["stages"], 1):
            lines += [f"function {number} {stage['entry']}", f"attribute {number} {DYNAMIC_SHARED} {stage['shared_bytes']}"]
            if stage["shared_bytes"] > 0:
                lines.append(f"attribute {number} {CARVEOUT} {MAX_SHARED}")
            x, y, z = stage["cluster"]
            if x * y * z > 8:
                lines.append(f"attribute {number} {NON_PORTABLE} 1")
        return lines

    def launch(self):
        lines = []
        for each in self.facts["tensor_maps"]:
            lines.append(f"map {ELEMENTS[each['element']]} rank 4 of {self.pointers[each['tensor']]} aligned 1 sizes {words(each['sizes'])} "
                         f"strides {words(each['strides_bytes'])} box {words(each['box'])} steps 1 1 1 1 0 {SWIZZLES[each['swizzle_bytes']]} 3 0")
        for number, stage in enumerate(self.facts["stages"], 1):
            line = (f"launch {number} grid {words(stage['grid'])} block {words(stage['block'])} shared {stage['shared_bytes']} stream 7 extra 0")
            x, y, z = stage["cluster"]
            line += f" cluster {x} {y} {z}" if x * y * z > 1 else ""
            line += " dependent 1" if stage["dependent"] else ""
            lines.append(f"{line} arguments {words(self.value(name) for name in stage['arguments'])}")
        return lines

    def whole(self):
        refused = [f"null {INVALID_VALUE}", f"misaligned {INVALID_VALUE}"]
        if self.scratch > 0:
            refused.append(f"misaligned scratch {INVALID_VALUE}")
        return [*self.load(), "loaded 0 module 1", f"scratch {self.scratch} verified 0", *self.launch(), "launched 0",
                *refused, "unload 1", "unloaded 0"]

    def failed_load(self):
        return ["load 7f454c46 aligned 1", f"loaded {NO_BINARY} module 0"]

    def failed_function(self):
        return [*self.load()[:2], "unload 1", f"loaded {NO_BINARY} module 0"]


def run(command, folder, **more):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def programs(folder, include, factors, source=HERE / "use_header.c"):
    """A source with its header as C99 and as C++; the example of attention, which passes no factors, as C99, without linking."""
    common = [*WARNINGS, "-isystem", include, "-I", ".", *(["-DWITH_FACTORS"] if factors else [])]
    run(["gcc", "-std=c99", *common, "-c", HERE / "fake_cuda.c", "-o", "fake.o"], folder)
    for name, compiler in {"c99": ["gcc", "-std=c99"], "c++": ["g++", "-std=c++11", "-x", "c++"]}.items():
        run([*compiler, *common, "-c", source, "-o", f"{name}.o"], folder)
        run(["g++", f"{name}.o", "fake.o", "-o", name], folder)
        yield name
    if not factors and source.name == "use_header.c":
        run(["gcc", "-std=c99", *common, "-c", ROOT / "examples" / "c" / "attention.c", "-o", "example.o"], folder)


def compare(got, expected, what):
    if got.splitlines() != expected:
        raise RuntimeError(f"{what}:\n--- got\n{got}--- expected\n" + "\n".join(expected))


def check_case(options, fatune, include, cache):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "naive.json").write_text(json.dumps(NAIVE))
        (pathlib.Path(folder) / "fp8.json").write_text(json.dumps(known_fp8()))
        run([fatune, "export", *options, "--to", "cubin,header", "--name", "attention", "--unverified", "--cache", cache], folder)
        facts = json.loads((pathlib.Path(folder) / "attention.json").read_text())
        # Whether a result still is verified depends on the compiler here; the program prints it.
        expected = Expected(facts)
        env = {**os.environ, "FAKE_ARGUMENTS": expected.arguments()}
        for program in programs(folder, include, factors=facts["problem"]["dtype"] in ("e4m3", "e5m2")):
            what = f"{facts['kernel']} as {program}"
            whole = [line.replace("verified 0", f"verified {int(facts['verified'])}") for line in expected.whole()]
            compare(run([f"./{program}"], folder, env=env), whole, what)
            compare(run([f"./{program}"], folder, env={**env, "FAKE_FAILS": "load"}), expected.failed_load(), what)
            compare(run([f"./{program}"], folder, env={**env, "FAKE_FAILS": "function"}), expected.failed_function(), what)
        return facts["kernel"]


def check_runtime_sizes(fatune, include, cache):
    """The header of a kernel that was tuned for 1000003 elements, at others: grid, scratch and arguments follow."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "total.json").write_text(json.dumps({"kernel": "total", "config": {"block_size": 256, "items": 8}}))
        run([fatune, "export", "--kernel-dir", ROOT / "tests/data/own_runtime", "--config", "total.json", "--size", "n=1000003", "--arch", "sm_90a",
             "--to", "header", "-o", ".", "--unverified", "--cache", cache], folder)
        expected = ["load 7f454c46 aligned 1"]
        for number, entry in enumerate(("total_parts", "total_sum"), 1):
            expected += [f"function {number} {entry}", f"attribute {number} {DYNAMIC_SHARED} 0"]
        for n in (1, 2048, 2049, 1000003, (1 << 31) + 5):
            parts = -(-n // 2048)
            launch = "block 256 1 1 shared 0 stream 7 extra 0 arguments"
            expected += [f"n {n} scratch {round_up(4 * parts)}", f"launch 1 grid {parts} 1 1 {launch} p1048576 p3145728 l{n}",
                         f"launch 2 grid 1 1 1 {launch} p3145728 p2097152 i{parts}", "launched 0"]
        for n in (0, -1, 2048 * ((1 << 31) - 1) + 1, (1 << 63) - 1):
            scratch = round_up(4 * -(-n // 2048)) if 0 < n <= 1 << 53 else 0
            expected += [f"n {n} scratch {scratch}", f"launched {INVALID_VALUE}"]
        expected += ["unload 1", "unloaded 0"]
        for program in programs(folder, include, False, HERE / "use_sizes.c"):
            got = run([f"./{program}"], folder, env={**os.environ, "FAKE_ARGUMENTS": "ppl,ppi"})
            compare(got, expected, f"run-time sizes as {program}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    parser.add_argument("--cuda-include", required=True)
    args = parser.parse_args()
    if not shutil.which("gcc"):
        print("gcc is not installed")
        return 77
    kernels = []
    with tempfile.TemporaryDirectory() as cache:
        try:
            for options in CASES:
                kernels.append(check_case(options, os.path.abspath(args.fatune), args.cuda_include, cache))
            check_runtime_sizes(os.path.abspath(args.fatune), args.cuda_include, cache)
        except RuntimeError as error:
            if "(NVRTC) was not found" in str(error):
                print("NVRTC is not installed")
                return 77
            print(error)
            return 1
    print(f"headers: {', '.join(kernels)}, total, each as C99 and C++")
    return 0


if __name__ == "__main__":
    sys.exit(main())
