"""fatune: from a PyTorch model to a faster one, by attention kernels tuned for its calls.

    suite = fatune.capture(model, inputs)      which attention calls does a step make?
    result = fatune.tune(suite)                finds a kernel for each, on this GPU
    with fatune.install(result): ...           puts them under F.scaled_dot_product_attention
    fatune.why()                               which calls they served, and why not the others
    fatune.optimize(model, inputs)             all of it, with proof: outputs compared, the step timed

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
