"""errors.py: Defines the error of this package and its exit codes."""
from __future__ import annotations

NO, USAGE, ENVIRONMENT, FILES, DEVICE, BUG, INTERRUPTED = 1, 2, 3, 4, 5, 70, 130


_LONGEST = 1000


def printable(text: str) -> str:
    """A text of somebody's for a terminal: without control characters and lone surrogates, and cut
    in the middle where it is long."""
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST // 2]} ... {text[-_LONGEST // 2:]}"
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


class FatuneError(Exception):
    """An error in one printable sentence. `exit_code` is that of the program's own commands."""

    def __init__(self, message: str, exit_code: int = ENVIRONMENT) -> None:
        super().__init__(printable(message))
        self.exit_code = exit_code
