"""scripts.py: Runs a user's script and reports its failures with its traceback."""
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
"""The name under which the script's module stays known, because its functions are called later."""


def printing(document: bool) -> ContextManager[Any]:
    """Sends the script's output to stderr if stdout is for a document alone."""
    return contextlib.redirect_stdout(sys.stderr) if document else contextlib.nullcontext()


def run_script(script: Path, arguments: Sequence[str]) -> Dict[str, Any]:
    """Runs a script and returns its globals.

    Raises FatuneError (4) when there is no such file. It raises (1) with the traceback of a script
    that failed, or with the exit code of a script that ended with one. KeyboardInterrupt passes.
    """
    if not script.is_file():
        what = "is a folder; name a script" if script.is_dir() else "there is no such file"
        raise FatuneError(f"{script}: {what}", FILES)
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
    except FatuneError:
        raise
    except Exception as error:
        raise FatuneError(f"{script} failed:\n{_traceback_of(error, script)}", NO) from error
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = argv, path, main


def _traceback_of(error: BaseException, script: Path) -> str:
    """Returns the traceback from the script's first frame on, or the error of bad syntax."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != str(script):
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()
