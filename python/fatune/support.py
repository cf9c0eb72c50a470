"""support.py: Asks the program whether its kernels take a captured problem."""
from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

from . import program
from .documents import write_text
from .errors import FILES, USAGE, FatuneError


_Answer = Tuple[Optional[str], Dict[str, Any]]


def why_no_kernel(entry: Dict[str, Any]) -> Optional[str]:
    """Returns why no kernel that a sweep tunes takes a problem of a suite. None: one does, or the
    program is not there to be asked."""
    return _asked(entry)[0]


def spelled(entry: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the problem of a suite in the program's spelling, empty where no kernel takes it."""
    return _asked(entry)[1]


def _asked(entry: Dict[str, Any]) -> _Answer:
    try:
        return _answer(str(program.path()), json.dumps({"name": "asked", **entry}))
    except FatuneError:
        return None, {}  # the command that needs the program says so


@functools.lru_cache(maxsize=4096)
def _answer(of_program: str, entry: str) -> _Answer:
    problem, first = json.loads(entry), ""
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder) / "suite.json"
        write_text(suite, '{"schema": "fatune.problems/1", "name": "asked", "summary": "asked", '
                          f'"problems": [{entry}]}}')
        for name in _kernels(of_program, problem.get("dtype", "f16")):
            try:
                answer = program.run(["inspect", "--suite", str(suite), "--kernel", name],
                                     accept=(0, 1))
            except FatuneError as error:
                if error.exit_code not in (USAGE, FILES):
                    raise
                said = str(error).replace(f"{suite}: ", "").replace("field 'problems[0]': ", "")
                return said, {}
            if answer["supported"]:
                return None, answer["problem"]
            first = first or f"{name} {answer['reason']}"
    head_dim = problem["shape"].split(",")[3]
    can = f"has the head dim {head_dim}" if "HEAD_DIM" in first else "takes it"
    return f"no kernel {can}: {first}", {}


@functools.lru_cache(maxsize=64)
def _kernels(of_program: str, dtype: str) -> Tuple[str, ...]:
    """Returns the kernels of attention that a sweep tunes unless others are named."""
    return tuple(each["name"] for each in program.run(["kernels"])["kernels"]
                 if each["role"] == "attention" and each["tuned_by_default"]
                 and dtype in each["dtypes"])
