"""__main__.py - `fatune` on PATH and `python -m fatune`: the program, and beside it the commands written in Python."""
from __future__ import annotations

import importlib.util
import os
import sys
from typing import NoReturn, Optional, Sequence

from . import commands
from .errors import ENVIRONMENT, FatuneError
from .program import path


def _become_program(arguments: Sequence[str]) -> NoReturn:
    """Replaces this process, so that signals and exit codes are the program's own."""
    if importlib.util.find_spec("torch") is not None:
        os.environ.setdefault("FATUNE_PYTHON", sys.executable)  # baselines torch:* by this environment's PyTorch
    program = path()
    try:
        os.execv(program, ["fatune", *arguments])
    except OSError as error:
        raise FatuneError(f"{program} cannot be run: {error.strerror}", ENVIRONMENT) from error


def main(argv: Optional[Sequence[str]] = None) -> int:
    """The exit code of a command written in Python; of others only when the program cannot be started."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments and arguments[0] in commands.COMMANDS:
        return commands.main(arguments)
    try:
        _become_program(arguments)
    except FatuneError as error:
        print(f"fatune: error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
