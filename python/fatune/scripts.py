"""scripts.py - runs a person's script as Python would, and tells its failures with its own traceback."""
from __future__ import annotations

import contextlib
import sys
import tokenize
import traceback
import types
from pathlib import Path
from typing import Any, ContextManager, Dict, Sequence

from .errors import FILES, NO, FatuneError


_NAME = "fatune_script"
"""By which the script's module is found when it has ended: its functions are still called."""


def printing(document: bool) -> ContextManager[Any]:
    """What scripts print meanwhile goes to stderr, if stdout is for a document alone."""
    return contextlib.redirect_stdout(sys.stderr) if document else contextlib.nullcontext()


def run_script(script: Path, arguments: Sequence[str]) -> Dict[str, Any]:
    """The script's globals when it has ended.

    Raises FatuneError: (4) when there is no such file; (1) with the script's traceback when it failed, or with its
    exit code when it ended with one. KeyboardInterrupt passes.
    """
    if not script.is_file():
        raise FatuneError(f"{script}: there is no such file", FILES)
    argv, path, main = sys.argv, list(sys.path), sys.modules["__main__"]
    sys.argv, sys.path[0:0] = [str(script), *arguments], [str(script.resolve().parent)]
    module = sys.modules["__main__"] = sys.modules[_NAME] = types.ModuleType("__main__")
    module.__file__ = str(script)
    try:
        with tokenize.open(script) as file:
            exec(compile(file.read(), str(script), "exec"), module.__dict__)
        return module.__dict__
    except SystemExit as error:
        if error.code in (None, 0):
            return module.__dict__
        raise FatuneError(f"{script} ended with {error.code}", NO) from error
    except Exception as error:
        raise FatuneError(f"{script} failed:\n{_traceback_of(error, script)}", NO) from error
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = argv, path, main


def _traceback_of(error: BaseException, script: Path) -> str:
    """From the script's own first frame on; of a script that was not even parsed, the error alone."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != str(script):
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()
