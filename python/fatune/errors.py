"""errors.py: Defines the error of this package and its exit codes."""
from __future__ import annotations

NO, USAGE, ENVIRONMENT, FILES, DEVICE, BUG, INTERRUPTED = 1, 2, 3, 4, 5, 70, 130


class FatuneError(Exception):
    """An error in one sentence. `exit_code` is that of the program's own commands."""

    def __init__(self, message: str, exit_code: int = ENVIRONMENT) -> None:
        super().__init__(message)
        self.exit_code = exit_code
