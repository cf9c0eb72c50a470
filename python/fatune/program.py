"""program.py: Finds the program fatune, runs its commands and reads their answers."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Optional, Sequence

from .errors import BUG, ENVIRONMENT, USAGE, FatuneError

_ERROR = "fatune: error:"
_HERE = Path(__file__).resolve().parent


def path() -> Path:
    """Returns the program: $FATUNE, else the package's, else `fatune` on PATH, else the launcher of
    the checkout.

    Raises FatuneError (3) when there is none, (2) when $FATUNE names no file.
    """
    told = os.environ.get("FATUNE")
    if told:
        if not Path(told).is_file():
            raise FatuneError(f"FATUNE={told}: there is no such file", USAGE)
        return Path(told)
    found = shutil.which("fatune")
    if found and os.path.realpath(found) == os.path.realpath(sys.argv[0]):
        found = None  # pip's script, which asks here what to run
    for candidate in (_HERE / "bin" / "fatune", Path(found) if found else None,
                      _HERE.parents[1] / "fatune"):
        if candidate is not None and candidate.is_file():
            return candidate
    raise FatuneError(
        "the program fatune was not found; put it on PATH, or name it by the variable FATUNE",
        ENVIRONMENT)


def _listen(child: "subprocess.Popen[str]",
            progress: Optional[Callable[[str], None]]) -> tuple[list[str], str]:
    """Returns the lines of the child's stderr that are not empty and all of its stdout, at its end.
    """
    out: list[str] = []
    stdout, stderr = child.stdout, child.stderr
    assert stdout is not None and stderr is not None, "both are pipes"
    reader = threading.Thread(target=lambda: out.append(stdout.read()), daemon=True)
    reader.start()
    said = []
    for line in stderr:
        if line.strip():
            said.append(line.strip())
            if progress is not None and not line.startswith(_ERROR):  # that is raised
                progress(line.rstrip("\n"))
    reader.join()
    child.wait()
    return said, out[0]


def output_of(args: Sequence[str], *, accept: Sequence[int] = (0,),
              progress: Optional[Callable[[str], None]] = None, cwd: Optional[Path] = None) -> str:
    """Returns what `fatune ARGS` prints.

    `progress` takes each line of stderr as it comes. An exit code outside of `accept` raises
    FatuneError with this code and the last line. An interrupt is passed to the program, which ends
    before this raises.
    """
    command, environment = [str(path()), *args], dict(os.environ)
    if "torch" in sys.modules:
        # Baselines torch:* run by the PyTorch that asks.
        environment.setdefault("FATUNE_PYTHON", sys.executable)
    try:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                                 env=environment, text=True, encoding="utf-8", errors="replace",
                                 start_new_session=True)
    except OSError as error:
        raise FatuneError(f"{command[0]} cannot be run: {error.strerror}", ENVIRONMENT) from error
    with child:
        try:
            said, out = _listen(child, progress)
        except BaseException:
            child.send_signal(signal.SIGINT)
            child.wait()
            raise
    if child.returncode not in accept:
        reason = said[-1] if said else f"{' '.join(command)} ended with {child.returncode}"
        raise FatuneError(
            reason.removeprefix(_ERROR).strip(), child.returncode if child.returncode > 0 else BUG)
    return out


def run(args: Sequence[str], **options: Any) -> dict[str, Any]:
    """Returns the document that `fatune ARGS --json` prints. Takes the options of output_of()."""
    out = output_of([*args, "--json"], **options)
    try:
        return json.loads(out)
    except ValueError as error:
        raise FatuneError(f"fatune {' '.join(args)} --json printed no document: {error}",
                          BUG) from error
