"""commands.py - the commands of `python -m fatune` that are written in Python: capture and optimize."""
from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Sequence

from .errors import ENVIRONMENT, FatuneError

COMMANDS = {"capture": "capturing", "optimize": "optimizing"}


def _has(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # it is marked as absent
        return False


def main(argv: Sequence[str]) -> int:
    """`argv` begins with one of COMMANDS; returns the exit code, as docs/pytorch.md lists them."""
    try:
        if not _has("torch"):
            raise FatuneError(f"{argv[0]} needs PyTorch, which this Python has not", ENVIRONMENT)
        return int(importlib.import_module(f".{COMMANDS[argv[0]]}", __package__).main(argv[1:]))
    except FatuneError as error:
        print(f"fatune: error: {error}", file=sys.stderr)
        return error.exit_code
