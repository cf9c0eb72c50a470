"""schemas.py: Checks documents written by Python against configs/schemas."""
import pathlib
import subprocess
import sys

_CHECKER = pathlib.Path(__file__).resolve().parents[1] / "cli" / "check_schemas.py"


def check(document):
    """Raises AssertionError with what does not fit."""
    done = subprocess.run([sys.executable, str(_CHECKER), str(document)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
