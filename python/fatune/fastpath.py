"""fastpath.py: Turns off the fast path of nn.MultiheadAttention, which hides attention calls."""
from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, Sequence

from torch.backends import mha

_LAYER = "MultiheadAttention"


def hides(calls: Sequence[Dict[str, Any]]) -> bool:
    """Whether any call to be tuned is in a layer that has the fast path."""
    return any(call["problem"] and call["module"].rpartition("(")[2].rstrip(")") == _LAYER
               for call in calls)


@contextlib.contextmanager
def off(wanted: bool = True) -> Iterator[None]:
    """Turns the fast path off inside the `with`, if `wanted`."""
    before = mha.get_fastpath_enabled()
    if not (wanted and before):
        yield
        return
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(before)
