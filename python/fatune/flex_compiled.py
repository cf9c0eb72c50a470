"""flex_compiled.py: Serves flex_attention in compiled models: puts an operator of fatune in place of PyTorch's."""
from __future__ import annotations

import dataclasses
import math
import os
import weakref
from types import ModuleType
from typing import Any, Callable, Dict, Optional, Tuple

import torch

from . import block_masks
from .expressions import Refused
from .flex_rules import Asked, rule_of

_OPTION = "fatune"  # the key in kernel_options by which a call that may be served is known
_LIBRARY = torch.library.Library("fatune", "FRAGMENT")
Result = Tuple[torch.Tensor, torch.Tensor]
_Rules = Dict[Asked, Optional[str]]


@dataclasses.dataclass(frozen=True)
class _Call:
    """A call in compiled code: the file and the word of its kernel, and PyTorch's operation."""

    exported: ModuleType
    word: Optional[str]
    lse: bool
    dense: Callable[..., Any]

    def __call__(self, query: Any, key: Any, value: Any, scale: float) -> Result:
        exported = self.exported
        kind = exported._WITH_LSE if self.lse else exported._FLEX
        out = None
        if not exported._needs_gradients(query, key, value):
            out = exported._attend(query, key, value, self.word, scale, True, None, kind)
        if out is None:
            out, lse = self.dense(query, key, value, scale)[:2]
            return out, lse
        return (out[0], out[1] / math.log(2)) if self.lse else (out, _lse_of(query))


class Serving:
    """The file and the words of an installation, and the calls of code that was compiled for it. Code
    knows them by `name` as long as the installation lives; that of other processes has other names."""

    def __init__(self, exported: ModuleType, words: _Rules) -> None:
        self.exported, self.words = exported, words
        self.name = f"{os.getpid()}-{os.urandom(4).hex()}"  # a cache of compiled code holds it, too
        self.calls: Dict[str, _Call] = {}


_servings: "weakref.WeakValueDictionary[str, Serving]" = weakref.WeakValueDictionary()


def option(kernel_options: Any, name: str, lse: bool, checked: Any) -> Dict[str, Any]:
    """Returns the kernel_options of a call that is compiled. `checked` is the mark of its
    BlockMask."""
    return {**(kernel_options or {}), _OPTION: f"{name}|{lse}|{checked}"}


def begin(exported: ModuleType, words: _Rules, hop: Any) -> Serving:
    """Lets the kernels of a file serve calls with the name of what it returns."""
    serving = Serving(exported, words)
    _servings[serving.name] = serving
    kind = type(hop)
    if not hasattr(kind.__call__, "_fatune_original"):
        kind.__call__ = _looking_first(kind.__call__)
    return serving


def _looking_first(before: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the call of PyTorch's operation, with the operator of fatune tried first."""
    def call(hop: Any, query: Any, key: Any, value: Any, score_mod: Any, block_mask: Any,
             scale: Any, kernel_options: Any, *buffers: Any) -> Any:
        told = kernel_options.get(_OPTION) if isinstance(kernel_options, dict) else None
        if told is None:
            return before(hop, query, key, value, score_mod, block_mask, scale, kernel_options,
                          *buffers)
        options = {name: each for name, each in kernel_options.items() if name != _OPTION}
        rest = (score_mod, block_mask, scale, options, *buffers)
        name = _name_of(hop, told, query, key, value, rest)
        if name is None:
            return before(hop, query, key, value, *rest)
        out, lse = torch.ops.fatune._flex(query, key, value, scale, name)
        return out, lse, _lse_of(query)

    call._fatune_original = before  # type: ignore[attr-defined]
    return call


def _name_of(hop: Any, told: str, query: Any, key: Any, value: Any,
             rest: Tuple[Any, ...]) -> Optional[str]:
    """Returns the name of a call that a kernel may serve, None of another."""
    name, lse, checked = told.split("|", 2)
    serving = _servings.get(name)
    score_mod, block_mask, scale, options, *buffers = rest
    is_exporting = getattr(torch.compiler, "is_exporting", lambda: False)
    if (serving is None or any(buffers) or is_exporting()
            or torch.is_autocast_enabled(query.device.type) or options.get("OUTPUT_MAX")
            or torch.is_grad_enabled() and any(
                each.requires_grad for each in (query, key, value))):
        return None
    exported, words = serving.exported, serving.words
    if not exported._are_known((query, key, value)):
        return None
    mask_mod = block_mask[-1]
    try:
        rule = rule_of(mask_mod, score_mod, query.shape[2], key.shape[2])
    except Refused:
        return None
    asked = rule.asked(query, key)
    if (rule.bias is not None or rule.tensors or asked not in words
            or checked != str((rule.mask, block_masks.sizes_of(rule.mask, query.shape)))
            or not exported._may_have_kernel(query, key, value, words[asked], scale, True)):
        return None
    dense = hop.py_kernels[torch._C.DispatchKey.CompositeExplicitAutograd]

    def computed(q: Any, k: Any, v: Any, factor: float) -> Any:
        return dense(q, k, v, score_mod, (mask_mod,), factor, options)

    name = f"{told}|{len(serving.calls)}"
    serving.calls[name] = _Call(exported, words[asked], lse == "True", computed)
    return name


def _called(name: str) -> _Call:
    serving = _servings.get(name.partition("|")[0])
    if serving is None:
        raise RuntimeError("fatune: this code was compiled for kernels that are no longer installed; "
                           "compile it again")
    return serving.calls[name]


def _lse_of(query: Any) -> Any:
    return query.new_empty(query.shape[:3], dtype=torch.float32)


def _run(query: Any, key: Any, value: Any, scale: float, name: str) -> Result:
    return _called(name)(query, key, value, scale)


def _fake(query: Any, key: Any, value: Any, scale: float, name: str) -> Result:
    return _called(name).exported._new_output(query, value), _lse_of(query)


_LIBRARY.define("_flex(Tensor query, Tensor key, Tensor value, float scale, str name) -> (Tensor, Tensor)",
                tags=(torch.Tag.pt2_compliant_tag,
                      getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)))
_LIBRARY.impl("_flex", _run, "CompositeExplicitAutograd")
torch.library.register_fake("fatune::_flex", _fake, lib=_LIBRARY)
