"""masks.py: Names the mask of a call as fatune's problems name it, or says what else it is."""
from __future__ import annotations

import math
import sys
from typing import Any, Optional, Sequence, Tuple

import torch

from .layouts import ALIGNMENT

NONE, UPPER_LEFT, CAUSAL = "none", "causal-upper-left", "causal"
"""A causal mask is aligned with the last query and key; UPPER_LEFT is for unlike lengths."""
WINDOW, CAUSAL_WINDOW, PREFIX = "window", "causal-window", "prefix"
"""Kinds with numbers: "window:4,3", "causal-window:1024" and "prefix:16"."""
PADDING_RIGHT, PADDING_LEFT = "padding_right", "padding_left"
BIAS, OTHER = "bias", "other"
_OF_PROBLEMS = (NONE, UPPER_LEFT, CAUSAL, WINDOW, CAUSAL_WINDOW, PREFIX)


def is_of_problems(kind: str) -> bool:
    """Whether a problem can have this mask."""
    return kind.partition(":")[0] in _OF_PROBLEMS


def as_flag(kind: str, seq_q: int, seq_kv: int) -> Optional[bool]:
    """Returns PyTorch's is_causal that says the same; None where none does."""
    if kind == CAUSAL:
        return True if seq_q == seq_kv else None
    return {NONE: False, UPPER_LEFT: True}.get(kind)


def hides_all_of_a_row(kind: str, seq_q: int, seq_kv: int) -> bool:
    """Whether the first query sees no key under a problem's mask."""
    name, _, numbers = kind.partition(":")
    if name not in (CAUSAL, CAUSAL_WINDOW, WINDOW):
        return False
    return seq_q - seq_kv > (int(numbers.partition(",")[2]) if name == WINDOW else 0)


def bias_side(mask: Any) -> Optional[str]:
    """Returns UPPER_LEFT or CAUSAL for PyTorch's CausalBias, None for anything else. Importing
    its module takes seconds; a caller with such a mask has done so."""
    module = sys.modules.get("torch.nn.attention.bias")
    if module is None or not isinstance(mask, module.CausalBias):
        return None
    return UPPER_LEFT if mask.variant == module.CausalVariant.UPPER_LEFT else CAUSAL


def causal(seq_q: int, seq_kv: int, upper_left: bool) -> str:
    """Returns the kind of a causal mask that is no tensor."""
    return UPPER_LEFT if upper_left and seq_q != seq_kv else window(-1, 0, seq_q, seq_kv)


def window(before: int, after: int, seq_q: int, seq_kv: int) -> str:
    """Returns the kind of a window as FlashAttention's window_size has it: keys before and after
    the query's own place, counted from the last query and key; -1 is no bound."""
    all_before = not 0 <= before < seq_kv - 1
    all_after = not 0 <= after < seq_q - 1
    if all_before and (all_after or after == 0):
        return NONE if all_after else CAUSAL
    if after == 0 or seq_q == 1:
        return f"{CAUSAL_WINDOW}:{before + 1}"
    return f"{WINDOW}:{seq_kv - 1 if all_before else before},{seq_q - 1 if all_after else after}"


def is_learned(mask: torch.Tensor) -> bool:
    """Whether a gradient of the mask is wanted; then it is a bias, whatever its values."""
    return mask.requires_grad and torch.is_grad_enabled()


def is_being_captured(mask: torch.Tensor) -> bool:
    """Whether a CUDA graph is captured where the mask is used, so that it cannot be read."""
    return mask.is_cuda and torch.cuda.is_current_stream_capturing()


def as_bias(mask: torch.Tensor, sizes: Sequence[int], dtype: torch.dtype) -> Tuple[str, str]:
    """Returns a mask tensor as `fatune sweep --bias` takes it, or "" and why no kernel reads it.
    `sizes` are batch, heads, queries and keys, `dtype` is that of q. Reads no values. A dimension
    of size 1 or stride 0 stands for all; an exported file names its calls' tensors alike."""
    types = {torch.float32: ":f32", torch.bool: ":bool", dtype: ""}
    lacking = [1] * (4 - mask.dim())
    shape = [*lacking, *mask.shape]
    if any(size not in (1, whole) for size, whole in zip(shape, sizes)) or mask.dim() > 4:
        return "", "the sizes of its mask do not fit q and k"
    if mask.dtype not in types:
        return "", f"its mask is of {str(mask.dtype).replace('torch.', '')}; kernels read bool, float32 and the type of q"
    if mask.data_ptr() % ALIGNMENT:
        return "", f"its mask does not begin at a multiple of {ALIGNMENT} bytes"
    strides = [0 if size == 1 else step
               for size, step in zip(shape, [0] * len(lacking) + list(mask.stride()))]
    shape = [size if step else 1 for size, step in zip(shape[:3], strides)] + [sizes[3]]
    strides[3] = strides[3] if sizes[3] > 1 else 1
    dense = [0 if size == 1 and i < 3 else math.prod(shape[i + 1:]) for i, size in enumerate(shape)]
    laid = "" if strides == dense else "@" + ":".join(map(str, strides))
    return f"{','.join(map(str, shape))}{types[mask.dtype]}{laid}", ""


def kind_of(mask: torch.Tensor, seq_q: int, seq_kv: int) -> str:
    """Returns the kind of a mask tensor by its values; waits for its device."""
    allowed = _allowed(_once(mask))
    if allowed is None:
        return BIAS
    if bool(allowed.all()):
        return NONE
    if any(size not in (1, whole) for size, whole in zip(allowed.shape[-2:], (seq_q, seq_kv))):
        return OTHER
    allowed = allowed.expand(*allowed.shape[:-2], seq_q, seq_kv)
    return _of_problems(allowed) or _padded(allowed) or OTHER


def _once(mask: torch.Tensor) -> torch.Tensor:
    """Returns what expand() repeated once, with two dimensions at least."""
    for i, (size, stride) in enumerate(zip(mask.shape, mask.stride())):
        mask = mask.narrow(i, 0, 1) if stride == 0 < size else mask
    return mask.reshape((1,) * (2 - mask.dim()) + tuple(mask.shape))


def _allowed(mask: torch.Tensor) -> Optional[torch.Tensor]:
    """Returns which keys are seen; None for a mask that adds numbers other than 0 and the least."""
    if mask.dtype == torch.bool:
        return mask
    seen = mask == 0
    hidden = mask <= torch.finfo(mask.dtype).min  # also -infinity
    return seen if bool((seen | hidden).all()) else None


def _padding(seen: torch.Tensor) -> Optional[str]:
    """Whether the visible keys (..., seq_kv) are one run that touches the first or the last key."""
    step = seen.to(torch.int8).diff(dim=-1)
    if not bool((step > 0).any()):
        return PADDING_RIGHT
    return None if bool((step < 0).any()) else PADDING_LEFT


def _padded(allowed: torch.Tensor) -> Optional[str]:
    """Names a mask that hides padded keys from all queries, alone or beside a causal mask."""
    if bool((allowed == allowed[..., :1, :]).all()):
        return _padding(allowed[..., 0, :])
    seen, (seq_q, seq_kv) = allowed.any(dim=-2, keepdim=True), allowed.shape[-2:]
    of_keys = _padding(seen)
    whole = torch.ones(seq_q, seq_kv, dtype=torch.bool, device=allowed.device)
    for corner in {0, seq_kv - seq_q} if of_keys else ():
        if bool((allowed == whole.tril(corner) & seen).all()):
            return f"{CAUSAL}_{of_keys}"
    return None


def _of_problems(allowed: torch.Tensor) -> Optional[str]:
    """Names a mask (..., seq_q, seq_kv) that a problem can have. It is found in the first entry and
    compared with all."""
    seq_q, seq_kv = allowed.shape[-2:]
    first, corner = allowed.reshape(-1, seq_q, seq_kv)[0], seq_kv - seq_q
    rows = torch.arange(corner, seq_kv, device=allowed.device)  # the keys on the diagonal
    sees = first.any(dim=-1)
    if not bool(sees.any()):
        return None
    least = int((first.byte().argmax(dim=-1) - rows)[sees].min())
    most = int((seq_kv - 1 - first.flip(-1).byte().argmax(dim=-1) - rows)[sees].max())
    whole = torch.ones(seq_q, seq_kv, dtype=torch.bool, device=allowed.device)
    if bool((allowed == whole.tril(corner + most).triu_(corner + least)).all()):
        if most == -corner != 0 and least == 1 - seq_kv:
            return UPPER_LEFT
        return window(-least, most, seq_q, seq_kv) if least <= 0 <= most else None
    prefix = int(first[0].sum())
    below = whole.tril(corner)
    below[:, :prefix] = True
    return f"{PREFIX}:{prefix}" if bool((allowed == below).all()) else None
