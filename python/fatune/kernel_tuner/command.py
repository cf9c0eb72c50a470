"""command.py: `python -m fatune kt SCRIPT`: runs a script of Kernel Tuner with fatune in its place."""
from __future__ import annotations

import argparse
import importlib
import sys
import types
from pathlib import Path
from typing import Any, Sequence

from ..errors import USAGE, FatuneError
from ..scripts import run_script
from .answering import Tuner

_UNANSWERED = ("run_kernel", "tune_kernel_T1", "tune_cache")


def main(argv: Sequence[str]) -> int:
    """Runs the script; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m fatune kt", usage="%(prog)s [OPTIONS] SCRIPT [ARGUMENTS OF THE SCRIPT]",
        description="Run a script of Kernel Tuner as it is: its calls of tune_kernel are answered "
        "by fatune sweep.")
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
        module: Any = importlib.import_module("kernel_tuner")
        places = [module, importlib.import_module("kernel_tuner.interface")]
    except ImportError:
        module = sys.modules["kernel_tuner"] = types.ModuleType("kernel_tuner")
        places = [module]
    for place in places:
        place.tune_kernel = tuner.tune_kernel
        for name in _UNANSWERED:
            setattr(place, name, _unanswered(name))


def _unanswered(name: str) -> Any:
    def call(*_: Any, **__: Any) -> None:
        raise FatuneError(f"{name}: fatune answers tune_kernel alone", USAGE)
    return call
