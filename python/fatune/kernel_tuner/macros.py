"""macros.py: Turns a script's macros into a manifest's, and finds headers that a kernel includes."""
from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from ..errors import USAGE, FatuneError
from .calls import Call

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# Levels that NVRTC lacks, and standards before its headers' own, C++17.
_WITHOUT_EFFECT = re.compile(r"\s*|-O\w*|--?std=c\+\+(03|11|14)")


def macros_of(call: Call) -> Tuple[Optional[Dict[str, str]], List[str]]:
    """Returns a manifest's macros by name, None where parameters are macros, and compiler options
    for macros that are no numbers. A parameter of words stands as it is in the source. Raises
    FatuneError (2)."""
    if call.defines is None:
        words = any(isinstance(value, str) for values in call.parameters.values()
                    for value in values)
        return ({name: name for name in call.parameters} if words else None), []
    macros, options = {}, []
    for name, value in call.defines.items():
        text = call.expression(value, f"defines: {name}") if callable(value) else str(value)
        for fixed, number in call.fixed.items():
            text = re.sub(rf"\b{re.escape(fixed)}\b", str(number), text)
        names = _names_in(text)
        if names is not None and names <= set(call.parameters):
            macros[name] = text
        elif names is not None and names & set(call.parameters):
            raise FatuneError(f"defines: {name} is {text}, which is no number", USAGE)
        else:
            options.append(f"-D{name}={text}")
    return macros, options


def settled(call: Call) -> Tuple[List[str], List[Path]]:
    """Returns the compiler's options without those that have no effect, and the include folders."""
    options, folders = [], list(call.folders)
    given = iter(call.options)
    for option in given:
        if option in ("-I", "-D"):
            option += next(given, "")
        if option.startswith("-I"):
            folders.append(Path(option[2:].strip()))
        elif not _WITHOUT_EFFECT.fullmatch(option):
            options.append(option)
    return options, folders


def copy_headers(text: str, folders: Sequence[Path], to: Path) -> None:
    """Copies the headers that a text includes in quotes, direct and indirect, as far as they are
    in one of the folders."""
    for name in _INCLUDE.findall(text):
        found = next((each / name for each in folders if (each / name).is_file()), None)
        if found is None or ".." in Path(name).parts or (to / name).exists():
            continue
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_bytes(found.read_bytes())
        copy_headers(found.read_text(encoding="utf-8"), folders, to)


def _names_in(text: str) -> Optional[set[str]]:
    """Returns the names of an expression of Python; None for another text, such as C++."""
    try:
        return {node.id for node in ast.walk(ast.parse(text, mode="eval"))
                if isinstance(node, ast.Name)}
    except SyntaxError:
        return None
