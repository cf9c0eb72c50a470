"""command.py: `python -m fatune kt SCRIPT`: runs a script of Kernel Tuner with fatune in its place."""
from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import sys
import types
from pathlib import Path
from typing import Any, Iterator, Sequence

from ..errors import USAGE, FatuneError
from ..scripts import run_script
from .answering import Tuner
from .launching import PythonKernel

# Kernel Tuner imports these where they are installed. They take seconds, and its own launches alone need them.
_SLOW = ("torch", "cupy", "pycuda", "cuda", "ray")
_UNANSWERED = ("tune_cache",)
_NEEDED = ("tune_kernel_T1",)  # it calls tune_kernel


def main(argv: Sequence[str]) -> int:
    """Runs the script; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m fatune kt", usage="%(prog)s [OPTIONS] SCRIPT [ARGUMENTS OF THE SCRIPT]",
        description="Run a script of Kernel Tuner as it is: its calls of tune_kernel are answered "
        "by fatune sweep, and those of run_kernel by fatune verify --outputs.")
    parser.add_argument("-o", "--out", type=Path, help="folder of the runs [runs/SCRIPT]")
    parser.add_argument("--budget", help="of each call, as of fatune sweep [every config]")
    parser.add_argument("--device", help="as of fatune sweep")
    parser.add_argument("script", type=Path, metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS",
                        help="of the script")
    args = parser.parse_args(argv)
    _stand_in(Tuner(args.out or Path("runs") / args.script.stem, args.budget, args.device))
    run_script(args.script, args.arguments)
    return 0


def _stand_in(tuner: Tuner) -> None:
    """Replaces the calls of Kernel Tuner; its other parts stay, where it is installed."""
    try:
        with _hidden(_SLOW):
            module: Any = importlib.import_module("kernel_tuner")
            places = [module, importlib.import_module("kernel_tuner.interface")]
            tuner.on_host = module.run_kernel
            builder: Any = importlib.import_module("kernel_tuner.kernelbuilder")
    except ImportError:
        module = sys.modules["kernel_tuner"] = types.ModuleType("kernel_tuner")
        builder = sys.modules["kernel_tuner.kernelbuilder"] = types.ModuleType("kernelbuilder")
        module.kernelbuilder, places = builder, [module]
        for name in _NEEDED:
            setattr(module, name, _unanswered(name, "which needs Kernel Tuner to be installed"))
    builder.PythonKernel = functools.partial(PythonKernel, tuner.run_kernel)
    for place in places:
        place.tune_kernel, place.run_kernel = tuner.tune_kernel, tuner.run_kernel
        for name in _UNANSWERED:
            setattr(place, name, _unanswered(name, "which fatune does not answer"))


@contextlib.contextmanager
def _hidden(modules: Sequence[str]) -> Iterator[None]:
    """Lets imports of these modules fail inside the `with`, unless they are loaded already."""
    hidden = [name for name in modules if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def _unanswered(name: str, why: str) -> Any:
    def call(*_: Any, **__: Any) -> None:
        raise FatuneError(f"the script calls {name}, {why}", USAGE)
    return call
