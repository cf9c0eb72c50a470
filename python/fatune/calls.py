"""calls.py: Describes one call of attention without its data and finds its problem."""
from __future__ import annotations

import dataclasses
import hashlib
import inspect
import math
import re
import sys
from typing import Any, Callable, Dict, Optional, Tuple

import torch

from . import block_masks, layouts, masks, named_tensors, real, support
from .benchmarks.problems import Problem
from .expressions import Refused
from .flex_rules import Rule

DTYPES = {torch.float16: "f16", torch.bfloat16: "bf16"}
KindOf = Callable[[torch.Tensor, int, int], str]  # of a mask, for so many queries and keys
_GRADIENTS = ("gradients are wanted, which no kernel computes; torch.inference_mode() around the step says that they "
              "are not")
_UNKNOWN = "its arguments are of no form that fatune knows"
_MASK_WORDS = {
    masks.BIAS: "its mask adds numbers to the scores",
    masks.OTHER: "its mask hides keys one by one",
}


@dataclasses.dataclass(frozen=True)
class Tensor:
    """Sizes, strides in elements and element type of q, k or v as attention sees it, and whether
    it begins at a multiple of 16 bytes."""

    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    dtype: str
    aligned: bool = True


@dataclasses.dataclass(frozen=True)
class Mask:
    """A mask. `kind` is a word of masks.py, with its numbers; `form` is how it was given: nothing,
    flag, CausalBias, BlockMask or tensor. A tensor of a kind that no problem has is a `bias` of the problem, as
    `fatune sweep --bias` takes it, or `unread` says why no kernel reads it. `rule` is the text of a mask_mod, empty
    without one and None where it has none; it is the kind, too, where no other says it.
    `untold` is the reason why it has none."""

    kind: str
    form: str
    shape: Tuple[int, ...] = ()
    dtype: str = ""
    bias: str = ""
    unread: str = ""
    rule: Optional[str] = None
    untold: str = ""

    def named(self, kind: str) -> "Mask":
        """Returns the mask with the kind that its values have."""
        known = masks.is_of_problems(kind)
        return dataclasses.replace(self, kind=kind, bias="" if known else self.bias,
                                   unread="" if known else self.unread)


@dataclasses.dataclass(frozen=True)
class Call:
    """Facts of a call and its origin: `site` is FILE:LINE, `module` a path with * for numbers.
    `unread` is the reason of a call without q, k and v. `score` is the text of a score_mod without
    its softcap and bias. `lse`: the call returns the log-sum-exp, too. `tensors` are declarations
    of those that the texts read, and `read` are the tensors."""

    function: str
    query: Optional[Tensor]
    key: Optional[Tensor]
    value: Optional[Tensor]
    packed: bool
    mask: Mask
    dropout: float
    scale: Optional[float]
    gqa: bool
    gradients: bool
    autocast: bool
    site: str
    module: str
    unread: str = ""
    score: str = ""
    softcap: Optional[float] = None
    lse: bool = False
    tensors: Tuple[str, ...] = ()
    read: Tuple[torch.Tensor, ...] = dataclasses.field(default=(), compare=False, repr=False)

    def to_json(self) -> Dict[str, Any]:
        """Returns the members by name; q, k and v are null where a call has another form."""
        members = dataclasses.asdict(dataclasses.replace(self, read=()))
        for tensor in filter(None, (members[name] for name in ("query", "key", "value"))):
            del tensor["aligned"]
        del members["unread"], members["read"], members["mask"]["unread"]
        if self.function != FLEX:
            for name in ("score", "softcap", "lse", "tensors"):
                del members[name]
            del members["mask"]["rule"], members["mask"]["untold"]
        return members


def dtype_name(dtype: torch.dtype) -> str:
    """Returns "f16", "bf16", or PyTorch's own name of another type."""
    return DTYPES.get(dtype, torch_name(dtype))


def torch_name(dtype: torch.dtype) -> str:
    """Returns PyTorch's name of a type: "float16"."""
    return str(dtype).replace("torch.", "")


def _type_seen(tensor: torch.Tensor) -> torch.dtype:
    """Returns the type after the conversion that torch.autocast makes."""
    if (torch.is_autocast_enabled(tensor.device.type) and tensor.dtype.is_floating_point
            and tensor.dtype != torch.float64):
        return torch.get_autocast_dtype(tensor.device.type)
    return tensor.dtype


def _tensor(tensor: torch.Tensor) -> Tensor:
    """Describes a tensor after the conversion that torch.autocast makes."""
    dtype, strides = _type_seen(tensor), tuple(tensor.stride())
    aligned = tensor.data_ptr() % layouts.ALIGNMENT == 0
    if dtype != tensor.dtype:
        strides = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype,
                                      device="meta").to(dtype).stride()
        aligned = True
    return Tensor(tuple(tensor.shape), tuple(strides), dtype_name(dtype), aligned)


def _are_packed(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether q, k and v are consecutive parts of one tensor."""
    if (not query.dim() == key.dim() == value.dim() == 4
            or len({(each.dtype, each.shape[3]) for each in (query, key, value)}) > 1):
        return False
    start, element, dim = query.data_ptr(), query.element_size(), query.shape[3]
    return (key.data_ptr() == start + query.shape[1] * dim * element
            and value.data_ptr() == key.data_ptr() + key.shape[1] * dim * element)


def mask_of(mask: Any, is_causal: bool, query: torch.Tensor, key: torch.Tensor,
            kind_of: KindOf = masks.kind_of) -> Mask:
    """Describes a mask; `kind_of` finds the kind of a tensor."""
    seq_q, seq_kv = query.shape[-2], key.shape[-2]
    side = masks.bias_side(mask)
    if side is not None:
        return Mask(masks.causal(seq_q, seq_kv, side == masks.UPPER_LEFT), "CausalBias")
    if mask is None:
        return Mask(masks.causal(seq_q, seq_kv, True), "flag") if is_causal else Mask(
            masks.NONE, "nothing")
    kind = masks.BIAS if masks.is_learned(mask) else kind_of(mask, seq_q, seq_kv)
    bias = ("", "")
    if query.dim() == 4:
        bias = masks.as_bias(mask, (*query.shape[:3], seq_kv), _type_seen(query))
    return Mask(kind, "tensor", *_form_of(mask), *bias).named(kind)


def _sdpa(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: Any = None,
          dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None,
          enable_gqa: bool = False) -> Dict[str, Any]:
    return {
        "tensors": (query, key, value), "mask": attn_mask, "dropout": dropout_p,
        "causal": is_causal, "scale": scale, "gqa": enable_gqa}


def _flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dropout_p: float = 0.0,
           softmax_scale: Optional[float] = None, causal: bool = False,
           window_size: Tuple[int, int] = (-1, -1), softcap: float = 0.0, alibi_slopes: Any = None,
           **_: Any) -> Dict[str, Any]:
    """Reads flash_attn_func: (batch, tokens, heads, head dim), masks bottom-right."""
    before, after = window_size
    kind = masks.window(before, 0 if causal else after, q.shape[1], k.shape[1])
    if softcap or alibi_slopes is not None:
        kind = masks.BIAS
    form = "nothing" if kind == masks.NONE else "flag"
    return {
        "tensors": tuple(each.transpose(1, 2) for each in (q, k, v)), "kind": Mask(kind, form),
        "dropout": dropout_p, "scale": softmax_scale, "gqa": True}


def _flex(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, score_mod: Any = None,
          block_mask: Any = None, scale: Optional[float] = None, enable_gqa: bool = False,
          return_lse: bool = False, kernel_options: Any = None, *, return_aux: Any = None,
          training: bool = False) -> Dict[str, Any]:
    """Reads flex_attention without its kernel_options. `training` is an argument of transformers.
    """
    form = "nothing" if block_mask is None else "BlockMask"
    rule = Rule()
    try:
        if getattr(return_aux, "max_scores", False):
            raise Refused("it returns the largest scores, too")
        rule = block_masks.read(query, key, score_mod, block_mask)
        kind = _mask_of_rule(rule, form, query, key, block_mask)
    except Refused as why:
        kind = (Mask(masks.OTHER, form, unread=str(why))
                if block_mask is None or score_mod is not None or isinstance(why, block_masks.Fault)
                else _mask_without_rule(str(why), block_mask, query, key))
    lse = bool(return_lse or getattr(return_aux, "lse", False))
    return {"tensors": (query, key, value), "kind": kind, "dropout": 0.0, "scale": scale,
            "gqa": enable_gqa, "rule": rule, "lse": lse}


def _mask_of_rule(rule: Rule, form: str, query: torch.Tensor, key: torch.Tensor,
                  block_mask: Any) -> Mask:
    """Describes the mask and the bias of a rule. The mask has a kind by its values where they are
    few enough to be looked at and those of no tensor; else the program finds it from the text."""
    found = Mask(rule.mask or masks.NONE, form, rule=rule.mask)
    if rule.bias is not None:
        return Mask(rule.mask or masks.BIAS, form if rule.bias.dtype == torch.bool else "score_mod",
                    *_form_of(rule.bias), *masks.as_bias(
                        rule.bias, (*query.shape[:3], key.shape[2]), _type_seen(query)), rule.mask)
    sizes = block_masks.sizes_of(rule.mask, query.shape)
    if rule.mask and not rule.held and not block_masks.why_unread(block_mask, sizes):
        kind = masks.kind_of(block_masks.dense(block_mask, sizes), query.shape[2], key.shape[2])
        found = dataclasses.replace(found, kind=kind if masks.is_of_problems(kind) else rule.mask)
    return found


def _form_of(mask: torch.Tensor) -> Tuple[Tuple[int, ...], str]:
    return tuple(mask.shape), torch_name(mask.dtype)


def _mask_without_rule(why: str, block_mask: Any, query: torch.Tensor, key: torch.Tensor) -> Mask:
    """Describes a mask_mod without a text as the bool tensor that it says."""
    sizes = (query.shape[0], query.shape[1])
    if block_masks.why_unread(block_mask, sizes):
        return Mask(masks.OTHER, "BlockMask", unread=why)
    try:
        block_masks.check_blocks(block_mask, sizes)
    except block_masks.Fault as fault:
        return Mask(masks.OTHER, "BlockMask", unread=str(fault))
    found = mask_of(_once(block_masks.dense(block_mask, sizes)), False, query, key)
    return dataclasses.replace(found, form="BlockMask", untold=why)


def _once(seen: torch.Tensor) -> torch.Tensor:
    """Returns a mask with a size of 1 in place of a batch, heads or queries that are alike."""
    for i in range(3):
        first = seen.narrow(i, 0, 1)
        seen = first if bool((seen == first).all()) else seen
    return seen


SERVED, FLEX = "scaled_dot_product_attention", "flex_attention"
READERS: "dict[str, Callable[..., Dict[str, Any]]]" = {
    SERVED: _sdpa, FLEX: _flex, "flash_attn_func": _flash}
"""Turns the arguments of each known function into one form. Calls of other functions are counted
only."""


def describe(function: str, args: Tuple[Any, ...], options: Dict[str, Any], site: str, module: str,
             kind_of: KindOf = masks.kind_of) -> Call:
    """Returns the facts of a call. Raises nothing, so that the step goes on whatever it calls."""
    blank = Call(function, None, None, None, False, Mask(masks.OTHER, "nothing"), 0.0, None, False,
                 False, False, site, module)
    try:
        if function not in READERS:
            return blank
        found = READERS[function](*args, **options)
        reason = real.why_not(found["tensors"])
        return dataclasses.replace(blank, unread=reason) if reason else _described(
            blank, found, kind_of)
    except Exception:  # a kind of tensor or number that nobody thought of
        return dataclasses.replace(blank, unread=_UNKNOWN)


def _described(blank: Call, found: Dict[str, Any], kind_of: KindOf) -> Call:
    query, key, value = found["tensors"]
    mask = found.get("kind") or mask_of(found["mask"], found["causal"], query, key, kind_of)
    given = found.get("mask")
    scale = None if found["scale"] is None else float(found["scale"])
    if scale is not None and not math.isfinite(scale):
        return dataclasses.replace(blank, unread=f"its scale is {scale}")
    rule = found.get("rule") or Rule()
    return dataclasses.replace(
        blank, query=_tensor(query), key=_tensor(key), value=_tensor(value), score=rule.score,
        tensors=tuple(each.form for each in rule.tensors),
        read=tuple(each.tensor for each in rule.tensors),
        softcap=rule.softcap, lse=found.get("lse", False), packed=_are_packed(query, key, value), mask=mask, dropout=float(found["dropout"]),
        scale=scale, gqa=bool(found["gqa"]),
        gradients=torch.is_grad_enabled() and any(
            each.requires_grad for each in (query, key, value)) or (
                isinstance(given, torch.Tensor) and masks.is_learned(given)) or (
                    rule.bias is not None and masks.is_learned(rule.bias)) or any(
                        masks.is_learned(each.tensor) for each in rule.tensors),
        autocast=torch.is_autocast_enabled(query.device.type))


def _seen(call: Call) -> Tuple[Tensor, Tensor, Tensor]:
    """Returns q, k and v; expanded key heads count as one head."""
    query, key, value = call.query, call.key, call.value
    assert query is not None and key is not None and value is not None
    if (len(key.shape) == len(value.shape) == 4
            and key.shape[1] == value.shape[1] > 1 and key.strides[1] == value.strides[1] == 0):
        key, value = (dataclasses.replace(each, shape=(each.shape[0], 1, *each.shape[2:]))
                      for each in (key, value))
    return query, key, value


def _why_not_sizes(query: Tensor, key: Tensor, value: Tensor) -> Optional[str]:
    shapes = (query.shape, key.shape, value.shape)
    if {len(shape) for shape in shapes} != {4}:
        return f"q has {len(query.shape)} dimensions; fatune takes (batch, heads, tokens, head dim)"
    if 0 in query.shape + key.shape:
        return "it is empty"
    if query.dtype not in DTYPES.values():
        return f"its type is {query.dtype}; fatune tunes f16 and bf16"
    if key.dtype != query.dtype or value.dtype != query.dtype:
        return "q, k and v are of several types"
    if key.shape[:3] != value.shape[:3]:
        return "k and v have unlike sizes"
    if (key.shape[0] != query.shape[0] or key.shape[3] != query.shape[3]
            or query.shape[1] % key.shape[1]):
        return "the sizes of q and k do not fit"
    return None


def why_not_mask(kind: str, seq_q: int, seq_kv: int) -> Optional[str]:
    """Returns why no kernel is asked for a call with a mask of this kind; None when one is."""
    if masks.hides_all_of_a_row(kind, seq_q, seq_kv):
        return "its first queries see no key"
    if masks.is_of_problems(kind):
        return None
    words = _MASK_WORDS.get(kind) or f"its mask is {kind.replace('_', ' ')}"
    return f"{words}, and no kernel was tuned to read such a tensor"


def _out_of(query: Tensor, columns: int) -> Tensor:
    """Returns shape and strides of the result, as the exported module makes it."""
    _, heads, rows, own = query.shape
    dense = layouts.dense_strides(query.shape, query.strides)
    assert dense is not None, "a query without a fault has no two dimensions in one place"
    if columns != own:
        inner = ((columns, heads * columns) if query.strides[1] < query.strides[2] else
                 (rows * columns, columns))
        dense = (heads * rows * columns, *inner, 1)
    return Tensor((*query.shape[:3], columns), dense, query.dtype, True)


def problem_of(call: Call) -> Tuple[Optional[Dict[str, Any]], str]:
    """Returns the problem as `sweep --suite` reads it, without a name, or None and the reason."""
    if call.function not in (SERVED, FLEX):
        return None, f"it is a call of {call.function}; fatune serves {SERVED} and {FLEX}"
    if call.query is None:
        return None, call.unread or _UNKNOWN
    query, key, value = _seen(call)
    reason = _why_not_sizes(query, key, value) or call.mask.unread or None
    if reason is None and not call.mask.bias and call.mask.kind != call.mask.rule:
        reason = why_not_mask(call.mask.kind, query.shape[2], key.shape[2])
    if reason is None and call.dropout:
        reason = f"it has dropout of {call.dropout:g}"
    if reason is None and call.gradients:
        reason = _GRADIENTS
    tensors: Dict[str, Any] = {
        name: (each.shape, each.strides) for name, each in zip("qkv", (query, key, value))}
    if reason is None:
        reason = next(filter(None, (layouts.fault(name, *each) for name, each in tensors.items())),
                      None)
    if reason:
        return None, reason
    out = _out_of(query, value.shape[3])
    tensors["out"] = (out.shape, out.strides)
    layout = layouts.layout_of(tensors, call.packed)
    if ":" in layout and not all(layouts.is_aligned(*each) for each in tensors.values()):
        return None, "its rows do not begin at multiples of 16 bytes"
    beside = [name for name, each in zip("qkv", (query, key, value)) if not each.aligned]
    if beside:
        return None, f"{beside[0]} does not begin at a multiple of 16 bytes"
    usual = call.scale is None or math.isclose(call.scale, query.shape[3]**-0.5, rel_tol=1e-6)
    told = call.mask.kind == call.mask.rule or not call.mask.bias
    problem = Problem(*query.shape[:2], key.shape[1], query.shape[2], *key.shape[2:], query.dtype,
                      call.mask.kind if told else masks.NONE,
                      None if usual else call.scale, layout, call.mask.bias, call.score,
                      call.softcap, call.lse,
                      value.shape[3] if value.shape[3] != key.shape[3] else None,
                      tuple(map(named_tensors.with_values, call.tensors, call.read)))
    reason = problem.fault() or support.why_no_kernel(problem.entry())
    if reason:
        return None, reason
    said = support.spelled(problem.entry()) if call.mask.rule or call.score else {}
    if said:  # two texts may mean one problem
        problem = dataclasses.replace(problem, mask=said["mask"], score=said.get("score", ""),
                                      softcap=said.get("softcap"))
    return problem.entry(), ""


def name_of(entry: Dict[str, Any]) -> str:
    """Returns a problem's name for people and files: "4-8-512-64-causal-packed"."""
    parts = [entry["shape"].replace(",", "-")]
    parts += [f"kv{entry['kv_heads']}"] if "kv_heads" in entry else []
    parts += [f"keys{entry['seq_kv']}"] if "seq_kv" in entry else []
    parts += [f"v{entry['value_dim']}"] if "value_dim" in entry else []
    parts += [entry["dtype"]] if "dtype" in entry else []
    parts += ["causal"] if entry.get("causal") else []
    parts += [_word_of("mask", entry["mask"])] if "mask" in entry else []
    parts += [_word_of("score", entry["score"])] if "score" in entry else []
    parts += [f"softcap{entry['softcap']:g}"] if "softcap" in entry else []
    parts += ["bias-" + re.sub("[:,@]", "-", entry["bias"])] if "bias" in entry else []
    parts += ["lse"] if entry.get("lse") else []
    parts += [f"scale{entry['scale']:g}"] if "scale" in entry else []
    layout = entry.get("layout", "")
    parts += [layout if layout.isalnum() else "strides"] if layout else []
    return "-".join(parts)


def _word_of(what: str, text: str) -> str:
    """Returns a mask or a change of scores as a part of a name; an expression by its hash."""
    word = re.sub("[:,]", "-", text)
    return word if re.fullmatch("[a-z0-9-]+", word) else (
        f"{what}-{hashlib.sha256(text.encode()).hexdigest()[:6]}")


def site_of(path: str, line: int) -> str:
    """Returns FILE:LINE with the file as imports name it, so that no folder of the machine is kept.
    """
    below = [
        path[len(root):].lstrip("/")
        for root in sorted(filter(None, sys.path), key=len, reverse=True)
        if path.startswith(root.rstrip("/") + "/")]
    return f"{below[0] if below else path.rsplit('/', 1)[-1]}:{line}"


def caller() -> str:
    """Returns FILE:LINE of the innermost frame outside of PyTorch and this package."""
    frame = inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.split(".")[0] not in ("torch", __package__):
            return site_of(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return "?"
