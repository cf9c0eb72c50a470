"""named_tensors.py: Turns tensors that a mask_mod or score_mod reads into tensors that kernels read."""
from __future__ import annotations

from typing import Any, List, NamedTuple

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from . import masks
from .expressions import Refused, Symbol, text_of
from .remembering import stamp

_WHOLE = (torch.bool, torch.int32, torch.int64)  # sums of narrower types wrap around
_FRACTIONS = (torch.float32, torch.float16, torch.bfloat16)
_MOST_WHOLE = (1 << 30) - 1  # for which the program proves that sums have 32 bits
_MOST_SIZES = 3
_MOST_RUNS = 4096  # of equal values, in a problem


class Read(NamedTuple):
    """A tensor that expressions read, and how problems declare it: "t0=i32[4096]"."""

    form: str
    tensor: torch.Tensor

    def numbered(self, number: int) -> "Read":
        """Returns the same tensor with the name of that number."""
        return Read(f"t{number}={self.form.partition('=')[2]}", self.tensor)


def named(node: Symbol, tensors: List[torch.Tensor]) -> Symbol:
    """Returns an expression that reads t0, t1, ... in place of tensors, which it adds to `tensors`
    in the order of their first use. Raises Refused for one that kernels cannot read."""
    if node.operation in ("name", "number"):
        return node
    if node.operation != "lookup":
        operands = tuple(named(each, tensors) for each in node.operands)
        return Symbol(node.operation, operands, node.kind, node.natural)
    tensor, places = node.operands
    if tensor.dim() > _MOST_SIZES:
        raise Refused(f"reads {text_of(node)}, and expressions read tensors of up to {_MOST_SIZES} "
                      "dimensions")
    if tensor.dtype not in (*_WHOLE, *_FRACTIONS):
        name = str(tensor.dtype).replace("torch.", "")
        raise Refused(f"reads a tensor of {name}, and kernels read bool, int32, int64 and floats "
                      "of up to 32 bits")
    number = next((i for i, each in enumerate(tensors) if each is tensor), len(tensors))
    if number == len(tensors):
        tensors.append(tensor)
    return Symbol("element", (f"t{number}", [named(each, tensors) for each in places]), node.kind)


def read(number: int, tensor: torch.Tensor) -> Read:
    """Returns a tensor with its name and declaration."""
    kind = "i32" if tensor.dtype in _WHOLE else "f32"
    return Read(f"t{number}={kind}" + "".join(f"[{size}]" for size in tensor.shape), tensor)


def with_values(form: str, tensor: torch.Tensor) -> str:
    """Returns the text of a tensor in a problem, for tuning: whole numbers with their values, after
    a wait for the device. The program draws fractions. Where neighbours form more than 4096 runs of
    equal values, every n-th value stands for n."""
    if tensor.dtype not in _WHOLE:
        return form
    values = tensor.detach().cpu().flatten().long().clamp(-_MOST_WHOLE, _MOST_WHOLE)
    found, counts = values.unique_consecutive(return_counts=True)
    if len(found) > _MOST_RUNS:
        step = -(-len(values) // _MOST_RUNS)
        values = values[::step].repeat_interleave(step)[:len(values)]
        found, counts = values.unique_consecutive(return_counts=True)
    runs = (f"{value}*{count}" if count > 1 else f"{value}"
            for value, count in zip(found.tolist(), counts.tolist()))
    return f"{form}:{','.join(runs)}"


_copies: Any = WeakTensorKeyDictionary()  # of tensors of other types or orders: stamp, and copy


def ready(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Returns a tensor as kernels read it, contiguous int32 or float32: itself, or a copy. A copy is
    made once for each version of a tensor, which waits for the device. A captured graph makes its
    own copy, since its replays may find other values. A tensor of inference mode, whose version is
    unknown, has a copy for each call. Raises Refused."""
    if tensor.device != device:
        raise Refused(f"its mask_mod or score_mod reads a tensor on {tensor.device}, and q is on "
                      f"{device}")
    if tensor.dtype in (torch.int32, torch.float32) and tensor.is_contiguous():
        return tensor
    if masks.is_being_captured(tensor):  # and cannot be looked at
        return _converted(tensor.clamp(-_MOST_WHOLE, _MOST_WHOLE) if tensor.dtype == torch.int64
                          else tensor)
    now, (before, copy) = stamp(tensor), _copies.get(tensor, (None, None))
    if before == now and copy is not None:
        return copy  # type: ignore[no-any-return]
    copy = _converted(tensor)
    if before != now:
        if tensor.dtype == torch.int64 and bool(
                ((tensor < -_MOST_WHOLE) | (tensor > _MOST_WHOLE)).any()):
            raise Refused(f"its mask_mod or score_mod reads numbers beyond {_MOST_WHOLE}, which "
                          "kernels do not compute with")
        if tensor.is_cuda:  # another stream may use the copy
            torch.cuda.current_stream(device).synchronize()
        _copies[tensor] = now, None if tensor.is_inference() else copy
    return copy


def _converted(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.int32 if tensor.dtype in _WHOLE else torch.float32).contiguous()
