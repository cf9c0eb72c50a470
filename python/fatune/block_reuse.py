"""block_reuse.py: Gives the blocks of an earlier BlockMask to a new one whose mask_mod says the same, as each step of a model makes it."""
from __future__ import annotations

import copy
import weakref
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import torch

from . import real
from .expressions import Refused
from .flex_rules import of_mask

_MOST_KEPT = 16  # chosen
_MOST_BYTES = 16 << 20  # of one BlockMask; chosen


class _Kept(NamedTuple):
    """Blocks with the versions of their tensors, where they were made, and the BlockMask that was given
    them last."""

    blocks: Any
    versions: Tuple[int, ...]
    stream: Any
    latest: Any


class Blocks:
    """Makes BlockMasks by create_block_mask(). Blocks are used again only when the BlockMask that had
    them is gone and nothing was written to them; those of a mask_mod that reads a tensor never are.
    Blocks are kept when they are made for the second time, since lengths that grow make others."""

    def __init__(self, create: Callable[..., Any]) -> None:
        self._create = create
        self._kept: Dict[Any, Optional[_Kept]] = {}  # the latest last

    def __call__(self, mask_mod: Callable[..., Any], B: Any, H: Any, Q_LEN: Any, KV_LEN: Any,
                 *args: Any, **options: Any) -> Any:  # PyTorch's names
        key = _key(mask_mod, (B, H, Q_LEN, KV_LEN), args, options)
        was_made = key in self._kept
        kept = self._kept.pop(key, None)
        if kept is not None and _may_serve(kept):
            made = copy.copy(kept.blocks)
            made.mask_mod = mask_mod
            self._kept[key] = kept._replace(latest=weakref.ref(made))
            return made
        made = self._create(mask_mod, B, H, Q_LEN, KV_LEN, *args, **options)
        if key is not None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = _kept(made) if was_made else None
        return made


def _kept(made: Any) -> Optional[_Kept]:
    tensors = _tensors(made)
    if sum(each.nbytes for each in tensors.values()) > _MOST_BYTES:
        return None
    blocks = copy.copy(made)
    with torch.inference_mode(False):  # tensors of inference mode have no versions
        vars(blocks).update({name: each.clone() for name, each in tensors.items()})
    blocks.mask_mod = None  # which may hold much
    return _Kept(blocks, _versions(blocks), _stream(blocks), lambda: None)


def _key(mask_mod: Callable[..., Any], sizes: Tuple[Any, ...], args: Tuple[Any, ...],
         options: Dict[str, Any]) -> Any:
    """Returns what is equal for equal blocks; None where blocks are not used again."""
    if (any(type(each) not in (int, type(None)) for each in sizes) or real.why_not(())
            or torch.cuda.is_initialized()
            and torch.cuda.is_current_stream_capturing()):  # a graph keeps what it makes
        return None
    try:
        rule = of_mask(mask_mod, sizes[2:])
        told = {name: each for name, each in options.items() if name != "_compile"}
        key = rule.mask, sizes, args, tuple(sorted(told.items())), _current_device()
        hash(key)
    except (Refused, TypeError):  # the latter of arguments without a hash
        return None
    return key if rule.bias is None else None


def _may_serve(kept: _Kept) -> bool:
    return (kept.latest() is None and _versions(kept.blocks) == kept.versions
            and _stream(kept.blocks) == kept.stream)


def _tensors(blocks: Any) -> Dict[str, torch.Tensor]:
    return {name: each for name, each in vars(blocks).items() if isinstance(each, torch.Tensor)}


def _versions(blocks: Any) -> Tuple[int, ...]:
    return tuple(each._version for each in _tensors(blocks).values())


def _stream(blocks: Any) -> Any:
    """Returns the stream that work with the blocks is queued on; None on the CPU."""
    device = blocks.kv_num_blocks.device
    return torch.cuda.current_stream(device) if device.type == "cuda" else None


def _current_device() -> int:
    return torch.cuda.current_device() if torch.cuda.is_initialized() else -1
