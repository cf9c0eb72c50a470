"""real.py: Tells whether tensors hold plain data, which alone is read and given to kernels."""
from __future__ import annotations

from typing import Any, Sequence

import torch
from torch.autograd import forward_ad

_PLAIN = (torch.Tensor, torch.nn.Parameter)


def why_not(tensors: Sequence[Any]) -> str:
    """Returns why a call's tensors are no plain data; empty where they are."""
    if (torch.compiler.is_compiling() or torch._C._is_tracing()
            or torch._C._len_torch_dispatch_stack()):
        return "PyTorch traces it, and a kernel would not be seen"
    if torch._C._functorch.peek_interpreter_stack() or forward_ad._current_level >= 0:
        return "it is inside of torch.func, torch.vmap or forward-mode derivatives"
    for each in tensors:
        if type(each) not in _PLAIN:
            return f"its tensors are of type {type(each).__name__}"
        if each.is_nested or each.is_meta:
            return f"its tensors are {'nested' if each.is_nested else 'without data'}"
    return ""
