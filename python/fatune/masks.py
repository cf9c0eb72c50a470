"""masks.py: Names the kind of a mask tensor: none, causal, padding, a window or another."""
from __future__ import annotations

import sys
from typing import Any, Optional

import torch

NONE, UPPER_LEFT, LOWER_RIGHT = "none", "causal_upper_left", "causal_lower_right"
"""The corner at which a causal mask begins counts only for unlike lengths; otherwise it is CAUSAL.
"""
CAUSAL = "causal"
PADDING_RIGHT, PADDING_LEFT = "padding_right", "padding_left"
WINDOW, CAUSAL_WINDOW = "window", "causal_window"
BIAS, OTHER = "bias", "other"
IDLE = (NONE, CAUSAL)
"""Kinds of mask tensors that is_causal can say."""


def bias_side(mask: Any) -> Optional[str]:
    """Returns UPPER_LEFT or LOWER_RIGHT for PyTorch's CausalBias, None for anything else. Importing
    its module takes seconds; a caller with such a mask has done so."""
    module = sys.modules.get("torch.nn.attention.bias")
    if module is None or not isinstance(mask, module.CausalBias):
        return None
    return UPPER_LEFT if mask.variant == module.CausalVariant.UPPER_LEFT else LOWER_RIGHT


def causal(seq_q: int, seq_kv: int, upper_left: bool) -> str:
    """Returns the kind of a causal mask that is no tensor."""
    if seq_q == seq_kv:
        return NONE if seq_q == 1 else CAUSAL
    if upper_left:
        return UPPER_LEFT
    return NONE if seq_q == 1 else LOWER_RIGHT


def is_learned(mask: torch.Tensor) -> bool:
    """Whether a gradient of the mask is wanted; then it is a bias, whatever its values."""
    return mask.requires_grad and torch.is_grad_enabled()


def kind_of(mask: torch.Tensor, seq_q: int, seq_kv: int) -> str:
    """Returns the kind of a mask tensor by its values; waits for its device."""
    allowed = _allowed(mask)
    if allowed is None:
        return BIAS
    if bool(allowed.all()):
        return NONE
    allowed = allowed.reshape((1,) * (4 - allowed.dim()) +
                              tuple(allowed.shape)) if allowed.dim() < 4 else allowed
    if allowed.shape[-1] != seq_kv:
        allowed = allowed.expand(*allowed.shape[:-1], seq_kv)
    if allowed.shape[-2] == 1:
        return _padding(allowed[..., 0, :]) or OTHER
    return _kind_of_rows(allowed)


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


def _kind_of_rows(allowed: torch.Tensor) -> str:
    seq_q, seq_kv = allowed.shape[-2:]
    if bool((allowed == allowed[..., :1, :]).all()):
        return _padding(allowed[..., 0, :]) or OTHER
    # Distance of a key from the query of the same number.
    distance = (torch.arange(seq_kv, device=allowed.device)[None, :] -
                torch.arange(seq_q, device=allowed.device)[:, None])
    for kind, last in ((UPPER_LEFT, 0), (LOWER_RIGHT, seq_kv - seq_q)):
        below = distance <= last
        if bool((allowed == below).all()):
            return CAUSAL if seq_q == seq_kv else kind
        of_keys = _padding(allowed.any(dim=-2))
        if of_keys and bool((allowed == below & allowed.any(dim=-2, keepdim=True)).all()):
            return f"{CAUSAL}_{of_keys}"
    return _window(allowed, distance - (seq_kv - seq_q)) or OTHER


def _window(allowed: torch.Tensor, distance: torch.Tensor) -> Optional[str]:
    """Whether the mask is a band of one width. `distance` counts from the bottom-right diagonal."""
    seen = distance[allowed.reshape(-1, *allowed.shape[-2:])[0]]
    if not seen.numel():
        return None
    band = (distance >= seen.min()) & (distance <= seen.max())
    if not bool((allowed == band).all()):
        return None
    return CAUSAL_WINDOW if int(seen.max()) == 0 else WINDOW
