"""__main__.py: Runs `python -m fatune`: commands written in Python, else the program."""
from __future__ import annotations

import importlib.util
import os
import sys
from typing import NoReturn, Optional, Sequence

from . import commands
from .errors import ENVIRONMENT, FatuneError
from .program import output_of, path


def _become_program(arguments: Sequence[str]) -> NoReturn:
    """Replaces this process, so that signals and exit codes are the program's own."""
    if importlib.util.find_spec("torch") is not None:
        os.environ.setdefault("FATUNE_PYTHON", sys.executable)  # baselines torch:* run by it
    program = path()
    try:
        os.execv(program, ["fatune", *arguments])
    except OSError as error:
        raise FatuneError(f"{program} cannot be run: {error.strerror}", ENVIRONMENT) from error


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Returns the exit code of a command written in Python, or of a missing program."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if commands.handles(arguments):
        return commands.main(arguments)
    try:
        if arguments in (["-h"], ["--help"]):
            print(output_of(["--help"]) + commands.HELP)
            return 0
        _become_program(arguments)
    except FatuneError as error:
        print(f"fatune: error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
