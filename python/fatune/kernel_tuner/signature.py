"""signature.py: Reads the parameters of a kernel from its text."""
from __future__ import annotations

import re
from typing import List, NamedTuple

from ..errors import USAGE, FatuneError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Parameter(NamedTuple):
    """A parameter of a kernel; `written`: a pointer or array whose elements are not const."""

    name: str
    pointer: bool
    written: bool


def function_of(kernel: str) -> str:
    """Returns the function's name: "add" of "add<float, block_size_x>"."""
    return kernel.partition("<")[0].strip()


def parameters_of(kernel: str, source: str) -> List[Parameter]:
    """Returns the parameters of the __global__ function of this name. Raises FatuneError (2)."""
    text = _COMMENT.sub(" ", source)
    name = re.escape(function_of(kernel).rpartition("::")[2])
    found = re.search(rf"__global__[^;{{}}]*?\b{name}\s*\(", text)
    if found is None:
        raise FatuneError(f"the kernel's source has no __global__ function {function_of(kernel)}",
                          USAGE)
    listed = _split(text[found.end():])
    return [_parameter(each, place) for place, each in enumerate(listed)]


def _split(text: str) -> List[str]:
    """Returns what stands between the commas up to the bracket that closes."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(character, 0)
        if depth < 0:
            break
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _parameter(text: str, place: int) -> Parameter:
    words = re.findall(r"[A-Za-z_]\w*", text.partition("[")[0])
    pointer = "*" in text or "[" in text
    const = re.search(r"\bconst\b", text.partition("*")[0] if "*" in text else text)
    return Parameter(words[-1] if words else f"argument_{place}", pointer, pointer and not const)
