"""importing.py: `python -m fatune import`: a task of another benchmark to a suite for `fatune
sweep`."""
from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Optional, Sequence

from ..errors import USAGE, FatuneError, printable
from ..documents import fail, read_text, write_text
from .problems import Suite
from .tasks import load_kernelbot, parse_kernelbench
from .trace_sets import load_definition, load_trace_set

TASKS = """TASK is
  FILE.py            a problem of KernelBench
  task.yml           a task of KernelBot, or its folder
  definition.json    a Definition of FlashInfer-Trace or SOL-ExecBench with constant axes
  FOLDER             definitions/ and workloads/ (FlashInfer-Trace), or definition.json with
                     workload.jsonl in it or below it (SOL-ExecBench)

References are read as text: nothing of a task is executed."""


def load_task(task: Path, dtype: Optional[str] = None) -> Suite:
    """The attention problems of a task. Raises FatuneError (4) with file, field and reason."""
    kernelbench = task.suffix == ".py" and not task.is_dir()
    if dtype and not kernelbench:
        raise FatuneError(f"--dtype is for problems of KernelBench; {task} says its element type",
                          USAGE)
    if kernelbench:
        return parse_kernelbench(read_text(task), dtype, str(task))
    if task.is_dir():
        return load_kernelbot(task / "task.yml") if (task /
                                                     "task.yml").exists() else load_trace_set(task)
    if task.suffix in (".yml", ".yaml"):
        return load_kernelbot(task)
    if task.suffix == ".json":
        return load_definition(task)
    return fail(str(task), "is no task: name a .py, .yml or .json file, or a folder"
                if task.exists() else "there is no such file")


def main(argv: Sequence[str]) -> int:
    """Writes the suite; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="fatune import", description="Write a suite for `fatune sweep --suite` from a task.",
        epilog=TASKS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", type=Path, metavar="TASK", help="read this file or folder")
    parser.add_argument("-o", "--out", type=Path, default=Path("suite.json"), metavar="FILE",
                        help="write this file [suite.json]")
    parser.add_argument("--dtype", choices=("f16", "bf16"),
                        help="KernelBench only: cast tensors to this type")
    args = parser.parse_args(argv)
    suite = load_task(args.task, args.dtype)
    write_text(args.out, suite.text())
    for name, problem in suite.problems.items():
        print(f"{printable(name)} {problem.words()}")
    print(f"\nwrote {args.out}: fatune sweep --suite {shlex.quote(str(args.out))}")
    return 0
