"""fastpath.py - PyTorch's fast path of nn.TransformerEncoder and nn.MultiheadAttention in evaluation: fused layers whose
attention is no call of F.scaled_dot_product_attention, so that it is neither seen nor served."""
from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, Sequence

from torch.backends import mha

_LAYER = "MultiheadAttention"


def hides(calls: Sequence[Dict[str, Any]]) -> bool:
    """Whether any of Suite.calls that are tuned is of a layer that has the fast path."""
    return any(call["problem"] and call["module"].rpartition("(")[2].rstrip(")") == _LAYER for call in calls)


@contextlib.contextmanager
def off(wanted: bool = True) -> Iterator[None]:
    """Off meanwhile, if `wanted`."""
    before = mha.get_fastpath_enabled()
    if not (wanted and before):
        yield
        return
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(before)
