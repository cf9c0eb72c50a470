"""places.py: Finds the modules that hold a function and replaces it there."""
from __future__ import annotations

import sys
from types import FunctionType
from typing import Any, Callable, Dict, List, Tuple

import torch

Place = Tuple[Dict[str, Any], str]  # a module's globals, and the name


def find(function: Callable[..., Any]) -> List[Place]:
    """Returns every public name in a module's globals that is bound to the function.

    Names with an underscore are left out, because modules keep the original under them. So is the
    home of operators, which tracers search. Functions held by an object or a closure are not found.
    """
    found = []
    for home, module in list(sys.modules.items()):
        names = getattr(module, "__dict__", None)
        if isinstance(names, dict) and not home.startswith("torch._C"):
            found += [(names, name) for name, value in list(names.items())
                      if value is function and not name.startswith("_")]
    return found


def compiled(wanted: Callable[[Callable[..., Any]], bool]) -> List[Callable[..., Any]]:
    """Returns what torch.compile() made of a wanted function alone, as modules hold it."""
    made: Dict[int, Callable[..., Any]] = {}
    for home, module in list(sys.modules.items()):
        names = getattr(module, "__dict__", None)
        if isinstance(names, dict) and not home.startswith("torch."):
            made.update((id(value), value) for name, value in list(names.items())
                        if type(value) is FunctionType and not name.startswith("_")
                        and "_torchdynamo_orig_callable" in vars(value)
                        and wanted(value._torchdynamo_orig_callable))  # type: ignore[attr-defined]
    return list(made.values())


def put(places: List[Place], function: Callable[..., Any]) -> None:
    """Binds all places to the function."""
    for names, name in places:
        names[name] = function


def replace(old: Callable[..., Any], new: Callable[..., Any]) -> None:
    """Puts `new` wherever `old` is found, and where torch.jit.script looks for the operator of a
    function."""
    operators = torch.jit._builtins._get_builtin_table()
    put(find(old), new)
    if id(old) in operators:
        operators[id(new)] = operators[id(old)]
        if hasattr(old, "__code__"):  # a stand-in, whose id may soon be another object's
            del operators[id(old)]
