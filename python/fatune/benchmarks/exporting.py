"""exporting.py: `python -m fatune export`: kernels of a run as files of other benchmarks."""
from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

from .. import program
from ..documents import load
from ..errors import USAGE, FatuneError
from .kernels import Kernel, Written, why_no_reference
from .write_tasks import write_kernelbench, write_kernelbot
from .write_traces import write_trace_set

FORMATS: Dict[str, Callable[[List[Kernel], Path], Written]] = {
    "flashinfer-trace": write_trace_set, "kernelbot": write_kernelbot,
    "kernelbench": write_kernelbench
}
"""Writers by the name that --to gives. Each takes kernels and the folder to write into."""
_HELP = """FORMAT is
  flashinfer-trace   Definition, Workload, Solution and Trace for FlashInfer-Bench
  kernelbot          a task for KernelBot with a submission of the kernels
  kernelbench        a problem of KernelBench with a ModelNew that runs the kernels

RUN and all other options are those of `fatune export`, which compiles the kernels."""


def _results(words: Sequence[str]) -> List[Dict[str, Any]]:
    """Problems of the best.json files among the words of a command."""
    found = []
    for path in map(Path, words):
        file = path / "best.json" if path.is_dir() else path
        try:
            found += load(file, "fatune.best/1", {"problems": [{"best?": {}}]}, "")["problems"]
        except FatuneError:  # `fatune export` reads it next and says what is wrong
            continue
    return found


def export(words: Sequence[str], folder: Path,
           progress: Optional[Callable[[str], None]] = None) -> List[Kernel]:
    """Returns the kernels that `fatune export WORDS` writes into the folder."""
    document = program.run(["export", *words, "--to", "cubin,header,source", "-o", str(folder)],
                           progress=progress)
    results = _results(words)
    return [Kernel.load(folder, each["name"], results) for each in document["kernels"]]


def main(argv: Sequence[str]) -> int:
    """Writes the files; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="fatune export",
        usage="fatune export RUN... --to FORMAT,... [-o DIR] [OPTIONS]",
        description="Write kernels of a run for another benchmark.",
        epilog=_HELP,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", required=True, metavar="FORMAT,...", help="write these formats")
    parser.add_argument("-o", "--out", type=Path, default=Path("."), metavar="DIR",
                        help="write into this folder [.]")
    args, words = parser.parse_known_args(argv)
    names = list(dict.fromkeys(args.to.split(",")))
    for name in names:
        if name not in FORMATS:
            raise FatuneError(
                f"--to: '{name}' is not one of {', '.join(FORMATS)}; `fatune export` writes "
                "its own formats in a command of their own", USAGE)
    with tempfile.TemporaryDirectory() as folder:
        kernels = export(words, Path(folder), lambda line: print(line, file=sys.stderr))
    for name in names:
        for kernel in kernels:
            why = why_no_reference(kernel.record)
            if why:
                raise FatuneError(f"--to {name}: {kernel.name}: {why}", USAGE)
    for name in names:
        for path in FORMATS[name](kernels, args.out):
            print(f"wrote {path}")
    return 0
