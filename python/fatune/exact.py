"""exact.py: Computes attention in double precision or with rounding, for tolerances."""
from __future__ import annotations

import contextlib
import copy
from typing import Any, Callable, Dict, Iterator, Optional

import torch
import torch.nn.functional as F
import torch.utils._pytree as pytree
from torch.utils.checkpoint import checkpoint

from . import block_masks, fastpath, masks, places, real

_SCORES_AT_ONCE = 2**27  # chosen: elements, 1 GiB of doubles


def _below(seq_q: int, seq_kv: int, upper_left: bool, device: torch.device) -> torch.Tensor:
    return torch.ones(seq_q, seq_kv, dtype=torch.bool,
                      device=device).tril(0 if upper_left else seq_kv - seq_q)


def _mask(attn_mask: Any, is_causal: bool, query: torch.Tensor,
          key: torch.Tensor) -> Optional[torch.Tensor]:
    sizes = (query.shape[-2], key.shape[-2])
    side = masks.bias_side(attn_mask)
    if side is not None:
        return _below(*sizes, side == masks.UPPER_LEFT, query.device)
    return _below(*sizes, True, query.device) if is_causal else attn_mask


def _rows(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Optional[torch.Tensor],
          scale: float, dtype: torch.dtype) -> torch.Tensor:
    scores = (query.to(dtype) @ key.to(dtype).transpose(-1, -2)) * scale
    if mask is not None:
        kept = mask.dtype == torch.bool
        scores = scores.masked_fill(~mask, -torch.inf) if kept else scores + mask.to(dtype)
    weights = scores.softmax(-1)
    if mask is not None:
        weights = weights.nan_to_num(0.0)  # a row that sees no key
    return weights @ value.to(dtype)


def attention_in(dtype: Optional[torch.dtype], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function like F.scaled_dot_product_attention that computes in `dtype`. If `dtype`
    is None, scores, weights and sums are rounded to the inputs' type. `otherwise` takes calls with
    dropout, of other than 4 dimensions, or without plain data."""

    def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                  is_causal: bool = False, scale: Optional[float] = None,
                  enable_gqa: bool = False) -> Any:
        if dropout_p or real.why_not((query, key, value)) or query.dim() != 4 or not query.numel():
            return otherwise(query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                             enable_gqa=enable_gqa)
        kind = query.device.type
        if torch.is_autocast_enabled(kind):
            query, key, value = (each.to(torch.get_autocast_dtype(kind))
                                 for each in (query, key, value))
        factor = query.shape[-1] ** -0.5 if scale is None else scale
        mask = _mask(attn_mask, is_causal, query, key)
        if mask is not None:
            mask = mask.expand(*query.shape[:2], query.shape[2], key.shape[2])
        if enable_gqa:
            key, value = (each.repeat_interleave(query.shape[1] // each.shape[1], dim=1)
                          for each in (key, value))
        heads = max(1, _SCORES_AT_ONCE // (query.shape[0] * query.shape[2] * key.shape[2]))
        with torch.autocast(kind, enabled=False):
            parts = [
                checkpoint(_rows, query[:, i:i + heads], key[:, i:i + heads], value[:, i:i + heads],
                           None if mask is None else mask[:, i:i + heads], factor,
                           dtype or query.dtype, use_reentrant=False, preserve_rng_state=False)
                for i in range(0, query.shape[1], heads)]  # a backward pass keeps no scores, either
        out = torch.cat(parts, dim=1).to(query.dtype)
        if out.shape != query.shape or out.requires_grad:
            return out
        return torch.empty_like(query).copy_(out)  # where PyTorch leaves it

    return attention


def _flex_in(dtype: torch.dtype, flex_attention: Callable[..., Any]) -> Callable[..., Any]:
    """Returns flex_attention for tensors converted to `dtype`, a few heads at a time; its results
    have their own types."""
    def attention(query: Any, key: Any, value: Any, *args: Any, **options: Any) -> Any:
        if args or real.why_not((query, key, value)) or query.shape[1] % key.shape[1]:
            return flex_attention(query, key, value, *args, **options)
        share = query.shape[1] // key.shape[1]  # heads of one key head
        step = max(1, _SCORES_AT_ONCE // (query.shape[0] * share * query.shape[2] * key.shape[2]))
        parts = [flex_attention(query[:, i * share:(i + step) * share].to(dtype),
                                key[:, i:i + step].to(dtype), value[:, i:i + step].to(dtype),
                                **_from_head(i * share, options))
                 for i in range(0, key.shape[1], step)]
        found = pytree.tree_map(
            lambda *each: None if each[0] is None else torch.cat(each, dim=1), *parts)
        if isinstance(found, torch.Tensor):
            return found.to(query.dtype)
        return found[0].to(query.dtype), pytree.tree_map_only(
            torch.Tensor, lambda each: each.to(torch.float32), found[1])

    return attention


def _from_head(first: int, options: Dict[str, Any]) -> Dict[str, Any]:
    """Returns a call's options for the heads from the first; its functions know all heads."""
    score_mod, block_mask = options.get("score_mod"), options.get("block_mask")
    found = dict(options)
    if first and score_mod is not None:
        found["score_mod"] = lambda score, b, h, q, k: score_mod(score, b, h + first, q, k)
    if first and block_mask is not None:
        shifted = found["block_mask"] = copy.copy(block_mask)
        shifted.mask_mod = lambda b, h, q, k: block_mask.mask_mod(b, h + first, q, k)
    return found


@contextlib.contextmanager
def in_place_of_pytorchs(dtype: Optional[torch.dtype]) -> Iterator[None]:
    """Puts attention_in(dtype) under F's name, also in layers that have a fast path. With a type,
    flex_attention computes in it, too."""
    before = F.scaled_dot_product_attention
    stand_ins = {before: attention_in(dtype, before)}
    if dtype is not None:
        stand_ins.update((each, _flex_in(dtype, each)) for each in block_masks.functions())
    for original, stand_in in stand_ins.items():
        places.replace(original, stand_in)
    try:
        with fastpath.off():
            yield
    finally:
        for original, stand_in in stand_ins.items():
            places.replace(stand_in, original)
