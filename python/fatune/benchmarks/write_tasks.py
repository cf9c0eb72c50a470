"""write_tasks.py: Writes kernels as tasks of KernelBot and problems of KernelBench with solutions.
"""
from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any, Dict, List, Sequence

from ..documents import note, write_own
from .kernels import (IMPORT, Kernel, Written, call_options, lies, own_call, part, problem_name,
                      reference_body, stored_shape, torch_dtype)
from .problems import Problem, number_text

_LARGEST_SUBMISSION = 1_000_000  # bytes; KernelBot's limit
_FIRST_TEST_SEED, _FIRST_BENCHMARK_SEED = 1001, 2001  # chosen
_COLUMNS = 100
_LIMITS = {"f16": "2e-3", "bf16": "1.6e-2"}
"""The largest difference from a reference in fp32, as in tests/gpu/flashinfer_trace_test.py."""

_TASK = """files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "reference.py", "source": "reference.py"}
  - {"name": "eval.py", "source": "../eval.py"}

lang: "py"

description: |
  Attention of @type@ tensors: softmax(@scores@) v. Query head i reads key head
  i // (heads // kvheads).@mask@

  custom_kernel() is given (q, k, v) and returns out, all contiguous:
@shapes@
config:
  main: "eval.py"

tests:
@tests@
benchmarks:
@benchmarks@
test_timeout: 180
benchmark_timeout: 180
ranked_timeout: 420
ranking_by: "geom"
"""

_REFERENCE = """import torch
import torch.nn.functional as F
@import@from task import input_t, output_t
from utils import make_match_reference


def generate_input(
    batch: int, heads: int, kvheads: int, queries: int, keys: int, dim: int, seed: int
) -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
@inputs@    return q, k, v


def ref_kernel(data: input_t) -> output_t:
    q, k, v = data
@body@

check_implementation = make_match_reference(ref_kernel, rtol=@limit@, atol=@limit@)
"""

_MODEL = '''"""Attention for @words@, as a problem of KernelBench."""
import torch
import torch.nn as nn
import torch.nn.functional as F
@import@

class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
@body@

def get_inputs():
@inputs@    return [q, k, v]


def get_init_inputs():
    return []
'''

_MODEL_NEW = '''

class ModelNew(torch.nn.Module):
    """The attention of Model by the kernels of this file."""

    def forward(self, q, k, v):
        return custom_kernel((q, k, v))
'''


def _filled(text: str, marks: Dict[str, str]) -> str:
    for mark, value in marks.items():
        text = text.replace(f"@{mark}@", value)
    return text


def _contents(kernels: Sequence[Kernel], format_name: str) -> str:
    """Comment lines: what is in the file, and the commands that found it."""
    lines = [
        f"# Written by fatune {kernels[0].facts['fatune']} (fatune export --to {format_name}):"
    ]
    commands = set()
    for kernel in kernels:
        facts, measured = kernel.facts, kernel.measured()
        lines.append(f"#   {kernel.problem.words()}: {facts['kernel']} for {facts['arch']}" +
                     (f", {measured}" if measured else "") +
                     (", as recorded" if facts["recorded"] else "") +
                     ("" if facts["verified"] else ", NOT VERIFIED"))
        if facts.get("command"):
            commands.add("#   " + re.sub(r"[\x00-\x1f\x7f]", " ", facts["command"]))
    return "\n".join(lines + (["# found by", *sorted(commands)] if commands else [])) + "\n"


def _facts(kernels: Sequence[Kernel]) -> str:
    """A raw string takes JSON as it is: quotes are escaped in it, and never three in a row."""
    def shapes(problem: Problem) -> Dict[str, Sequence[int]]:
        return {name: stored_shape(problem, name) for name in ("q", "k", "v", "out")}

    rows = [json.dumps({**each.facts, "shapes": shapes(each.problem)}) for each in kernels]
    return '_FACTS = json.loads(r"""[\n' + ",\n".join(rows) + '\n]""")\n'


def _cubins(kernels: Sequence[Kernel]) -> str:
    """Machine code by its hash, since several kernels may share it."""
    text = "_CUBINS: dict[str, str] = {  # zlib, base64\n"
    for sha256, cubin in {each.facts["cubin"]["sha256"]: each.cubin for each in kernels}.items():
        packed = base64.b64encode(zlib.compress(cubin, 9)).decode()
        lines = "".join(packed[at:at + _COLUMNS] + "\n" for at in range(0, len(packed), _COLUMNS))
        text += f'    "{sha256}": """\n{lines}""",\n'
    return text + "}\n"


def _launcher(kernels: Sequence[Kernel], format_name: str) -> str:
    """The module with custom_kernel((q, k, v)), the kernels and their machine code."""
    text = "\n\n".join(part(name) for name in
                       ("kernelbot_submission.py", "torch_driver.py", "kernelbot_kernel.py"))
    for mark, value in (("contents", _contents(kernels, format_name)), ("facts", _facts(kernels)),
                        ("cubins", _cubins(kernels))):
        line = next(each for each in text.splitlines(keepends=True)
                    if each.endswith(f"# @fatune: {mark}\n"))
        text = text.replace(line, value, 1)
    return text


def _folder_name(problem: Problem) -> str:
    layout = re.sub("[^a-z0-9]", "-", problem.layout)
    return (f"attention_{problem.dtype}" + ("_causal" if problem.causal else "")
            + (f"_scale{number_text(problem.scale)}" if problem.scale is not None else "")
            + (f"_{layout}" if layout != "bhsd" else ""))


def _case(problem: Problem, seed: int) -> str:
    """Arguments of generate_input(), whose names are letters, as KernelBot's eval.py demands."""
    return json.dumps({"batch": problem.batch, "heads": problem.heads, "kvheads": problem.kv_heads,
                       "queries": problem.seq_q, "keys": problem.seq_kv, "dim": problem.head_dim,
                       "seed": seed})


def _shape_names(problem: Problem, tensor: str) -> str:
    heads, rows = ("heads", "queries") if tensor in ("q", "out") else ("kvheads", "keys")
    between = f"{rows}, {heads}" if lies(problem, tensor) == "bshd" else f"{heads}, {rows}"
    return f"batch, {between}, dim"


def _task(problems: List[Problem]) -> str:
    first = problems[0]
    cases = {"tests": _FIRST_TEST_SEED, "benchmarks": _FIRST_BENCHMARK_SEED}
    shapes = [f"    {name}: ({_shape_names(first, name)})\n" for name in ("q", "k", "v", "out")]
    scores = "q k^T / sqrt(dim)"
    if first.scale is not None:
        scores = f"{number_text(first.scale)} q k^T"
    return _filled(_TASK, {
        "type": torch_dtype(first), "scores": scores, "shapes": "".join(shapes),
        "mask": " Query i sees key j when j <= i + keys - queries." if first.causal else "",
        **{section: "".join(f"  - {_case(each, seed + i)}\n" for i, each in enumerate(problems))
           for section, seed in cases.items()}})


def _reference(problems: List[Problem]) -> str:
    """One function without branches for all problems of a task."""
    first = problems[0]
    lower_right = first.causal and any(each.seq_q != each.seq_kv for each in problems)
    options = call_options(first, "q.shape[2], k.shape[2]" if lower_right else "",
                           any(each.heads != each.kv_heads for each in problems))
    inputs = "".join(
        f"    {name} = torch.randn({_shape_names(first, name)}, dtype=torch.{torch_dtype(first)}, "
        'device="cuda", generator=gen)\n' for name in "qkv")
    return _filled(_REFERENCE, {
        "import": IMPORT if lower_right else "", "inputs": inputs,
        "body": reference_body(first, options), "limit": _LIMITS[first.dtype]})


def _warn_of_refusal(path: Path, text: str) -> None:
    size = len(text.encode())
    if size > _LARGEST_SUBMISSION:
        note(f"warning: {path}: has {size} bytes, and KernelBot takes {_LARGEST_SUBMISSION}; "
             "export fewer problems")
    if "stream" in text.lower():
        note(f"warning: {path}: has the word 'stream', if only in a kernel's name, and KernelBot "
             "refuses files with it; --shape exports problems without it")


def write_kernelbot(kernels: List[Kernel], folder: Path) -> Written:
    """A task with a submission for each element type, mask, scale and layout."""
    tasks: Dict[str, List[Kernel]] = {}
    for kernel in kernels:
        tasks.setdefault(_folder_name(kernel.problem), []).append(kernel)
    written: Written = []
    for name, members in sorted(tasks.items()):
        problems = list(dict.fromkeys(kernel.problem for kernel in members))
        texts = {
            "task.yml": _task(problems), "reference.py": _reference(problems),
            "task.py": part("kernelbot_task.py"), "submission.py": _launcher(members, "kernelbot")}
        written += [write_own(folder / name / file, text) for file, text in texts.items()]
        _warn_of_refusal(written[-1], texts["submission.py"])
    return written


def _model(problem: Problem) -> str:
    imported, options = own_call(problem)
    body = "".join(f"    {line}\n" for line in reference_body(problem, options).splitlines())
    inputs = "".join(
        f"    {name} = torch.randn{stored_shape(problem, name)}.to(torch.{torch_dtype(problem)})\n"
        for name in "qkv")
    return _filled(_MODEL, {"words": problem.words(), "import": imported,
                            "body": body, "inputs": inputs})


def write_kernelbench(kernels: List[Kernel], folder: Path) -> Written:
    """A problem file NAME.py, and NAME_new.py with a ModelNew, for each problem."""
    problems: Dict[Problem, List[Kernel]] = {}
    for kernel in kernels:
        problems.setdefault(kernel.problem, []).append(kernel)
    written: Written = []
    for problem, members in problems.items():
        name = problem_name(problem)
        solution = _launcher(members, "kernelbench") + _MODEL_NEW
        written += [write_own(folder / f"{name}.py", _model(problem)),
                    write_own(folder / f"{name}_new.py", solution)]
    return written
