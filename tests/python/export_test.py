#!/usr/bin/env python3
"""export_test.py: Checks the files of `python -m fatune export` and reads them back."""
import contextlib
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

from fatune import commands
from fatune.benchmarks import exporting, importing
from fatune.benchmarks.kernels import Kernel, lies, why_no_reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = ROOT / "tests/unit/export"
CONFIG = ROOT / "tests/data/cli/fa_mma.json"
MISSION = {
    "batch": 4, "heads": 8, "kv_heads": 8, "seq_q": 512, "seq_kv": 512, "head_dim": 64,
    "dtype": "f16", "mask": "none"
}
SMALL = {**MISSION, "batch": 2, "kv_heads": 2, "seq_q": 100, "seq_kv": 300}
LAYOUTS = ("bhsd", "bshd", "k=bshd", "bshd,out=bhsd")
TRACE = "traces/attention/attention_b4_h8_q512_kv512_d64_f16/fa_plain_sm_90a_01234567.jsonl"


def kernel(problem, entry="plain", **facts):
    """An exported kernel with machine code that nothing can run."""
    cubin = f"machine code of {entry}".encode()
    stage = {
        "entry": entry, "grid": [2, 4, 8], "block": [256, 1, 1], "cluster": [1, 1,
                                                                             1], "shared_bytes": 0,
        "static_shared_bytes": 0, "dependent": False, "arguments": ["q", "k", "v", "out"]
    }
    return Kernel(
        entry, {
            "schema": "fatune.launch/1", "fatune": "1.2.3", "kernel": f"fa_{entry}", "config": {},
            "id": "0123456789abcdef", "problem": problem, "arch": "sm_90a", "min_compute": [9, 0],
            "exact_compute": True, "cubin": {
                "file": f"{entry}.cubin", "sha256": hashlib.sha256(cubin).hexdigest(),
                "bytes": len(cubin)
            }, "tensors": [], "stages": [stage], "tensor_maps": [], "scratch": [], "scale": 0.125,
            "verified": True, "measured": None, "recorded": False, "device": {
                "name": "NVIDIA H200", "driver": "580.1", "sm_count": 132
            }, "nvrtc": "13.0", "command": "fatune sweep --shape \"\"\"'\\", **facts
        }, cubin, "// header\n",
        f"// {entry}.cu - one attention kernel, for one shape.\n//\n"
        "// out = softmax(0.125 q k^T) v\n"
        "// measured: 6 us on NVIDIA H200\n//\n// Options of NVRTC\n\ntext\n")


def traced(problem=MISSION, **facts):
    """With a result of the final phase."""
    made = kernel(problem, **facts)
    verify = {
        "passed": True, "margin": 0.5, "max_abs_diff": 0.001, "mean_abs_diff": 1e-5,
        "relative_l2": 2e-4, "gates": [{"name": "accuracy", "passed": 1, "of": 1}]
    }
    made.result = {
        "best": {
            "impl": "fatune:fa_plain", "hot": {"median_us": 6}, "cold": {"median_us": 8},
            "verify": verify
        }, "baselines": [{"impl": "torch", "hot": {"median_us": 1}},
                         {"impl": "cudnn", "hot": {"median_us": 7}, "cold": {"median_us": 10}}],
        "gate": {"baseline": "cudnn"}
    }
    return made


def staged():
    """Two launches with scratch between them, and a tensor map."""
    made = kernel({**MISSION, "batch": 1, "heads": 4, "kv_heads": 4, "seq_q": 16}, "staged")
    first, = made.facts["stages"]
    second = {**first, "entry": "combine", "arguments": ["partial", "stats", "out", "lse"]}
    first.update(arguments=["map_q", "k", "v", "partial"], shared_bytes=1024, dependent=True)
    made.facts.update(stages=[first, second],
                      scratch=[{"name": "partial", "bytes": 1000}, {"name": "stats", "bytes": 64}],
                      tensor_maps=[{
                          "name": "map_q", "tensor": "q", "element": "f16", "sizes": [64, 16, 4, 1],
                          "strides_bytes": [128, 2048, 8192], "box": [64, 16, 1,
                                                                      1], "swizzle_bytes": 128
                      }])
    return made


def same(problems):
    """Problems with the layout of each tensor, which has several names."""
    return [
        dataclasses.replace(each, layout=tuple(lies(each, name) for name in ("q", "k", "v", "out")))
        for each in problems
    ]


class Export(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, format_name, *kernels):
        """The files written, and stderr."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            return exporting.FORMATS[format_name](list(kernels), self.folder), said.getvalue()

    def problems(self, task=None):
        with contextlib.redirect_stderr(io.StringIO()):
            return list(importing.load_task(task or self.folder).problems.values())

    def run_python(self, script, argument):
        done = subprocess.run(
            [sys.executable, "-B", str(UNIT / script),
             str(argument)],
            capture_output=True,
            text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Traces(Export):
    def json(self, path):
        return json.loads((self.folder / path).read_text())

    def test_the_problems_are_read_back(self):
        records = [MISSION, {**MISSION, "mask": "causal"}, {**MISSION, "scale": 0.5}] + [
            {**SMALL, "dtype": "bf16", "mask": "causal", "layout": layout} for layout in LAYOUTS]
        kernels = [traced(record) for record in records]
        self.assertEqual(len(self.write("flashinfer-trace", *kernels)[0]), 4 * len(records))
        self.assertCountEqual(same(self.problems()), same(each.problem for each in kernels))

    def test_a_solution_binds_the_machine_code_and_checks_its_tensors(self):
        made = traced({**SMALL, "dtype": "bf16", "mask": "causal", "layout": "bshd"},
                      scratch=[{"name": "partial", "bytes": 1024}])
        self.write("flashinfer-trace", made)
        name = "attention_b2_h8_kvh2_q100_kv300_d64_bf16_causal_bshd"
        solution = self.json(f"solutions/attention/{name}/fa_plain_sm_90a_01234567.json")
        self.assertEqual((solution["definition"], solution["name"]),
                         (name, "fa_plain_sm_90a_01234567"))
        self.assertEqual(
            solution["spec"], {
                "language": "cuda", "target_hardware": ["NVIDIA H200"
                                                        ], "entry_point": "main.cu::run",
                "dependencies": [], "destination_passing_style": True, "binding": "tvm-ffi"
            })
        self.assertEqual([each["path"] for each in solution["sources"]],
                         ["main.cu", "plain.h", "plain.cuh"])
        main = solution["sources"][0]["content"]
        for words in ('#include "plain.h"', 'pointer(q, "q", {2, 100, 8, 64})',
                      'pointer(k, "k", {2, 300, 2, 64})',
                      "type.code == kDLBfloat && type.bits == 16", "plain_scratch_bytes(), stream)",
                      "#define PLAIN_IMPLEMENTATION"):
            self.assertIn(words, main)
        self.assertNotIn("@", main)
        self.write("flashinfer-trace", traced())
        plain = self.json(TRACE.replace("traces",
                                        "solutions").replace("jsonl",
                                                             "json"))["sources"][0]["content"]
        self.assertIn("plain_launch(kernel, q_at, k_at, v_at, out_at, 0, 0, stream)", plain)
        self.assertNotIn("cuMemAllocAsync", plain)

    def test_a_trace_has_cold_times_the_baseline_and_the_checks(self):
        self.write("flashinfer-trace", traced())
        trace = self.json(TRACE)
        self.assertEqual(trace["solution"], "fa_plain_sm_90a_01234567")
        self.assertEqual(
            trace["workload"],
            self.json("workloads/attention/attention_b4_h8_q512_kv512_d64_f16.jsonl")["workload"])
        found = trace["evaluation"]
        self.assertEqual(
            found["performance"],
            {"latency_ms": 0.008, "reference_latency_ms": 0.01, "speedup_factor": 1.25})
        self.assertEqual((found["status"], found["correctness"]["max_absolute_error"],
                          found["correctness"]["max_relative_error"],
                          found["correctness"]["extra"]["relative_l2"]),
                         ("PASSED", 0.001, "NaN", 2e-4))
        self.assertEqual(found["environment"], {
            "hardware": "NVIDIA H200",
            "libs": {"nvrtc": "13.0", "fatune": "1.2.3", "driver": "580.1"}
        })
        for words in ("the L2 cache flushed before each", "reference_latency_ms: cudnn",
                      "hot: 6 us", "out = softmax(0.125 q k^T) v\nmeasured: 6 us on NVIDIA H200\n"):
            self.assertIn(words, found["log"])

    def test_without_cold_times_of_both_a_trace_has_the_next(self):
        made = traced()
        del made.result["baselines"][1]["cold"]
        self.write("flashinfer-trace", made)
        found = self.json(TRACE)["evaluation"]
        self.assertEqual(found["performance"]["latency_ms"], 0.006)
        self.assertIn("back to back, chained", found["log"])

    def test_results_that_are_not_known_to_be_right_have_no_trace(self):
        for made, why in ((traced(verified=False), "not verified"),
                          (traced(recorded=True), "a recording"), (kernel(MISSION),
                                                                   "it was not measured")):
            files, said = self.write("flashinfer-trace", made)
            self.assertEqual(len(files), 3)
            self.assertRegex(said, f"plain has no trace: .*{why}")
            self.assertFalse((self.folder / "traces").exists())


class KernelBot(Export):
    def test_tasks_are_read_back_as_the_problems_of_their_kernels(self):
        records = [{**SMALL, "mask": mask, "layout": layout, "dtype": dtype, "seq_q": seq_q}
                   for mask in ("none", "causal") for layout in LAYOUTS for dtype in ("f16", "bf16")
                   for seq_q in (100, 300)]
        kernels = [kernel(record, f"k{number}") for number, record in enumerate(records)]
        self.assertEqual(len(self.write("kernelbot", *kernels)[0]), 16 * 4)
        read = [problem for task in self.folder.iterdir() for problem in self.problems(task)]
        self.assertCountEqual(same(read), same(each.problem for each in kernels))
        self.run_python("kernelbot_reference_test.py", self.folder)

    def test_a_causal_mask_of_one_length(self):
        made = kernel({**MISSION, "mask": "causal", "scale": 0.5})
        self.write("kernelbot", made)
        self.assertEqual(self.problems(self.folder / "attention_f16_causal_scale0.5"),
                         [made.problem])

    def test_a_submission_launches_the_kernel_of_the_shapes_it_is_given(self):
        files, said = self.write("kernelbot", kernel(SMALL), staged())
        self.assertEqual(files[-1], self.folder / "attention_f16/submission.py")
        self.run_python("kernelbot_submission_test.py", files[-1])
        text = files[-1].read_text()
        self.assertIn("# Written by fatune 1.2.3 (fatune export --to kernelbot):", text)
        self.assertIn("#   2,8(kv 2),100x300,64 f16: fa_plain for sm_90a, 6 us on NVIDIA H200",
                      text)
        self.assertNotIn("stream", text.lower() + said)
        self.assertNotIn("@fatune", text)

    def test_two_kernels_of_a_problem_are_one_benchmark(self):
        self.write("kernelbot", kernel(SMALL, "a"), kernel(SMALL, "b"))
        case = (
            '{"batch": 2, "heads": 8, "kvheads": 2, "queries": 100, "keys": 300, "dim": 64, '
            '"seed": %d}'
        )
        self.assertIn(f"tests:\n  - {case % 1001}\n\nbenchmarks:\n  - {case % 2001}\n\n",
                      (self.folder / "attention_f16/task.yml").read_text())

    def test_stderr_says_what_kernelbot_would_refuse(self):
        large = kernel(SMALL, "stream_k")
        large.cubin = random.Random(1).randbytes(1_000_000)
        said = self.write("kernelbot", large)[1]
        self.assertIn("KernelBot takes 1000000; export fewer problems", said)
        self.assertIn("has the word 'stream'", said)


class KernelBench(Export):
    def test_problems_are_read_back_and_have_a_solution(self):
        records = [
            MISSION, {**SMALL, "mask": "causal"}, {**MISSION, "dtype": "bf16", "layout": "bshd"}
        ]
        kernels = [kernel(record, f"k{number}") for number, record in enumerate(records)]
        files = self.write("kernelbench", *kernels)[0]
        self.assertEqual(len(files), 6)
        for made, problem, solution in zip(kernels, files[::2], files[1::2]):
            self.assertEqual(self.problems(problem), [made.problem])
            compile(problem.read_text(), str(problem), "exec")
            names = re.findall(r"^(?:def|class) (\w+)", solution.read_text(), re.MULTILINE)
            self.assertEqual(names[-2:], ["custom_kernel", "ModelNew"])
            compile(solution.read_text(), str(solution), "exec")


class Command(Export):
    """With the program, which compiles the kernels."""

    def export(self, *words):
        said = io.StringIO()
        words = [
            "export", "--config", CONFIG, "--arch", "sm_90a", "--unverified", *words, "-o",
            self.folder / "out"
        ]
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = commands.main([str(word) for word in words])
        return code, said.getvalue()

    def test_the_program_compiles_and_python_writes(self):
        code, said = self.export("--shape", "4,8,512,64", "--shape", "2,8,128,64", "--causal",
                                 "--layout", "bshd", "--to",
                                 "kernelbot,flashinfer-trace,kernelbench")
        if code == 3:
            self.skipTest(said)
        self.assertEqual(code, 0, said)
        self.assertIn("has no trace: its results are not verified", said)
        for task in ("attention_f16_causal_bshd", "."):
            self.assertEqual({each.words() for each in self.problems(self.folder / "out" / task)},
                             {"4,8,512,64 f16 causal bshd", "2,8,128,64 f16 causal bshd"})
        self.assertIn("NOT VERIFIED",
                      (self.folder / "out/attention_f16_causal_bshd/submission.py").read_text())

    def test_results_are_found_by_the_id_of_the_kernel(self):
        self.assertEqual(
            len(
                exporting._results(
                    ["--config", str(ROOT / "results/h200/suite-mission-contiguous")])), 12)
        self.assertEqual(exporting._results([str(CONFIG), "missing", "4,8,512,64"]), [])

    def test_problems_without_a_reference_are_refused_by_name(self):
        for words, why in ((("--lse", ), "log-sum-exp"), (("--layout", "packed"),
                                                          "q is no contiguous tensor"),
                           (("--dtype", "bf16", "--to", "kernelbot,cubin"),
                            "'cubin' is not one of")):
            code, said = self.export("--shape", "4,8,512,64", "--to", "kernelbot", *words)
            if code == 3:
                self.skipTest(said)
            self.assertEqual(code, 2, said)
            self.assertIn(why, said)
            self.assertFalse((self.folder / "out").exists())

    def test_custom_and_fp8_problems_have_no_reference(self):
        self.assertIn("cannot be written in PyTorch",
                      why_no_reference({"operation": "rmsnorm", "dtype": "f16"}))
        self.assertIn("fp8", why_no_reference({**MISSION, "dtype": "e4m3"}))
        self.assertIn("mask is prefix:9", why_no_reference({**MISSION, "mask": "prefix:9"}))
        for change in ({"softcap": 50.0}, {"bias": "f16:1x8"}):
            self.assertIn("scores are changed", why_no_reference({**MISSION, **change}))

    def test_other_formats_are_the_program_s(self):
        self.assertTrue(commands.handles(["export", "run", "--to=cubin,kernelbot"]))
        self.assertFalse(commands.handles(["export", "run", "--to", "cubin", "-o", "kernelbot"]))
        self.assertFalse(commands.handles(["sweep"]))


if __name__ == "__main__":
    os.environ.setdefault("XDG_CACHE_HOME", tempfile.gettempdir())
    sys.exit(unittest.main())
