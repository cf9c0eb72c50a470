"""places.py - where modules hold a function under a name of their own, and putting another in its stead."""
from __future__ import annotations

import sys
from typing import Any, Callable


def replace(old: Callable[..., Any], new: Callable[..., Any]) -> int:
    """Binds `new` to every public name of a module's globals that is bound to `old`; how many there were.

    Names with an underscore stay: by them a module keeps its own way to the original. Functions that are held
    elsewhere, by an object or a closure, are not reached.
    """
    found = 0
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if not isinstance(names, dict):
            continue
        for name, value in list(names.items()):
            if value is old and not name.startswith("_"):
                names[name] = new
                found += 1
    return found
