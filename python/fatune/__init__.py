"""fatune: Makes a PyTorch model faster with attention kernels tuned for its calls.

    suite = fatune.capture(model, inputs)   records the attention calls of a step
    result = fatune.tune(suite)             finds a kernel for each call on this GPU
    with fatune.install(result): ...        puts them under F.scaled_dot_product_attention
    fatune.why()                            tells which calls they served, and why not others
    fatune.optimize(model, inputs)          does all of this, compares outputs, times the step

PyTorch is imported when one of these is first used.
"""
from __future__ import annotations

import importlib
from typing import Any

from .errors import FatuneError

_HOMES = {"Suite": "capturing", "capture": "capturing", "Result": "tuning", "tune": "tuning",
          "Installed": "installing", "install": "installing", "why": "installing",
          "Proof": "optimizing", "optimize": "optimizing"}
__all__ = ["FatuneError", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    return value
