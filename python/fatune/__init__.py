"""fatune: Makes a PyTorch model faster with attention kernels tuned for its calls.

    suite = fatune.capture(model, inputs)   records the attention calls of a step
    result = fatune.tune(suite)             finds a kernel for each call on this GPU
    with fatune.install(result): ...        puts them under F.scaled_dot_product_attention
    fatune.why()                            tells which calls they served, and why not others
    fatune.optimize(model, inputs)          does all of this, compares outputs, times the step

PyTorch is imported when one of these is first used.
"""
from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from .errors import ENVIRONMENT as _ENVIRONMENT, FatuneError

if _TYPE_CHECKING:
    from .capturing import Suite as Suite, capture as capture
    from .installing import Installed as Installed, install as install, why as why
    from .optimizing import Proof as Proof, optimize as optimize
    from .tuning import Result as Result, tune as tune

_HOMES = {"Suite": "capturing", "capture": "capturing", "Result": "tuning", "tune": "tuning",
          "Installed": "installing", "install": "installing", "why": "installing",
          "Proof": "optimizing", "optimize": "optimizing"}
__all__ = ["FatuneError", *_HOMES]


def __dir__() -> "list[str]":
    return [*__all__, "__version__"]


def __getattr__(name: str) -> _Any:
    if name == "__version__":
        from . import program
        value = program.output_of(["--version"]).split()[1]
    elif name in _HOMES:
        try:
            value = getattr(_importlib.import_module(f".{_HOMES[name]}", __name__), name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise FatuneError(f"{name} needs PyTorch, which this Python has not",
                              _ENVIRONMENT) from error
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
