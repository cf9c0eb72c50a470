"""progress.py: Prints progress lines; on a terminal a line overwrites the one before."""
from __future__ import annotations

import re
import sys
from typing import TextIO

_COUNTED = re.compile(r": (search|final|compile) ")


def _is_live(stream: TextIO) -> bool:
    return stream.isatty() or type(stream).__module__.startswith("ipykernel")


class Progress:
    """Takes a line a call; `close()` ends a line that would be overwritten."""

    def __init__(self, stream: "TextIO | None" = None) -> None:
        self.stream = stream or sys.stderr
        self.live, self.width = _is_live(self.stream), 0

    def __call__(self, line: str) -> None:
        if self.live and _COUNTED.search(line):
            self.stream.write("\r" + line.ljust(self.width))
            self.width = len(line)
        else:
            self.close()
            self.stream.write(line + "\n")
        self.stream.flush()

    def close(self) -> None:
        if self.width:
            self.stream.write("\n")
        self.width = 0
