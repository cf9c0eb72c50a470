"""commands.py: Runs the commands of `python -m fatune` that are written in Python."""
from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Sequence

from . import options
from .errors import ENVIRONMENT, FatuneError

_NEED_TORCH = {"capture": "capturing", "optimize": "optimizing"}
_MODULES = {**_NEED_TORCH, "kt": "kernel_tuner.command", "import": "benchmarks.importing",
            "export": "benchmarks.exporting"}


HELP = """
Commands of the Python package (python -m fatune COMMAND --help):
  capture                 List the attention calls of a PyTorch script
  optimize                Tune a script's attention and prove it faster
  kt                      Run a Kernel Tuner script, whose kernels are tuned by fatune
  import                  Write a suite from a task of another benchmark
  export                  Also write files of other benchmarks: --to kernelbot"""


def handles(argv: Sequence[str]) -> bool:
    """Whether the command is written in Python. `export` is, for formats of other benchmarks."""
    if not argv or argv[0] not in _MODULES:
        return False
    if argv[0] != "export":
        return True
    from .benchmarks.exporting import FORMATS
    told = [word.partition("--to=")[2] for word in argv if word.startswith("--to=")]
    told += [word for flag, word in zip(argv, argv[1:]) if flag == "--to"]
    return any(name in FORMATS for text in told for name in text.split(","))


def _has(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # it is marked as absent
        return False


def main(argv: Sequence[str]) -> int:
    """Runs a command that handles() accepts; returns the exit code, as docs/pytorch.md lists them.
    """
    told = options.parse(argv[0], argv[1:]) if argv[0] in _NEED_TORCH else argv[1:]
    try:
        if argv[0] in _NEED_TORCH and not _has("torch"):
            raise FatuneError(f"{argv[0]} needs PyTorch, which this Python has not", ENVIRONMENT)
        module = importlib.import_module(f".{_MODULES[argv[0]]}", __package__)
        return int(module.main(told))
    except FatuneError as error:
        print(f"fatune: error: {error}", file=sys.stderr)
        return error.exit_code
