"""flex_rules.py: Turns FlexAttention's mask_mod and score_mod into the texts of a problem's mask and score."""
from __future__ import annotations

import contextlib
import math
import weakref
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch

from .expressions import BOOL, FLOAT, Refused, Symbol, is_number, nodes, text_of, traced

_PLACES = ("b", "h", "q", "k")


def _lookups(node: Symbol) -> List[Symbol]:
    return [each for each in nodes(node) if each.operation == "lookup"]


def _why_tensors(node: Symbol) -> Optional[str]:
    """Returns what is missing for an expression that reads tensors; None where it reads none."""
    if not _lookups(node):
        return None
    for each in nodes(node):
        told = next((words for form, words in _WITH_TENSORS if form(each)), None)
        if told:
            return told
    read = ", ".join(dict.fromkeys(map(text_of, _lookups(node))))
    return f"reads {read}, and kernels read no tensor of that form"


def _places_of(node: Symbol) -> str:
    """Returns the places of a lookup as one word; "" for any other node."""
    return "".join(map(text_of, node.operands[1])) if node.operation == "lookup" else ""


def _is_padding(node: Symbol) -> bool:
    return (node.operation in ("<", "<=", ">", ">=")
            and {text_of(each) if each.operation == "name" else _places_of(each)
                 for each in node.operands} == {"k", "b"})


def _is_documents(node: Symbol) -> bool:
    return node.operation == "==" and sorted(map(_places_of, node.operands)) in (
        ["k", "q"], ["bk", "bq"])


def _is_alibi(node: Symbol) -> bool:
    return (node.operation == "*" and "h" in map(_places_of, node.operands)
            and any(text_of(each) in _DISTANCES for each in node.operands))


_DISTANCES = ("k - q", "q - k", "abs(q - k)", "abs(k - q)", "-abs(q - k)", "-abs(k - q)")
_WITH_TENSORS: Tuple[Tuple[Callable[[Symbol], bool], str], ...] = (
    (_is_padding, "compares k with a length of each batch entry; fatune tunes that as --mask "
                  "padding:N,..., but the torch module passes no lengths"),
    (_is_documents, "compares documents of q and k; fatune tunes that as --mask document:N,..., "
                    "but the torch module passes no lengths"),
    (_is_alibi, "adds a slope of each head times the distance; fatune tunes that as --alibi, but "
                "the torch module passes no slopes"))
"""Forms that problems have and calls cannot be given, with what is missing."""


class Rule(NamedTuple):
    """The mask and the changes of scores of a call, as a problem says them. Texts are empty where
    there is none. `bias` is a tensor (batch, heads, queries, keys) that is added, or a bool tensor
    that hides keys beside the mask; dimensions of size 1 stand for all. `read` is the tensor that
    the mask_mod holds for the latter."""

    mask: str = ""
    score: str = ""
    softcap: Optional[float] = None
    bias: Optional[torch.Tensor] = None
    read: Optional[torch.Tensor] = None

    def asked(self, query: torch.Tensor, key: torch.Tensor) -> "Asked":
        """Returns what kernels are found by."""
        return Asked(self.mask, self.score, self.softcap, self.bias is not None, query.shape[2],
                     key.shape[2])


class Asked(NamedTuple):
    """A rule's texts, whether it has a bias, and the lengths."""

    mask: str
    score: str
    softcap: Optional[float]
    biased: bool
    seq_q: int
    seq_kv: int


def rule_of(mask_mod: Optional[Callable[..., Any]], score_mod: Optional[Callable[..., Any]],
            seq_q: int, seq_kv: int) -> Rule:
    """Returns the rule of a call of these lengths. A function is called with Symbols once for the
    numbers, functions and tensors in its closure, its defaults and the globals that it reads. A
    tensor that was written to is another. One that holds anything else is called each time. Raises
    Refused, whose message is a sentence."""
    rule = Rule()
    if score_mod is not None:
        rule = _remembered("score_mod", score_mod, _score_rule, (seq_q, seq_kv))
    if mask_mod is None:
        return rule
    mask = _remembered("mask_mod", mask_mod, _mask_rule, (seq_q, seq_kv))
    if mask.bias is None:
        return rule._replace(mask=mask.mask)
    if rule.bias is not None:
        raise Refused("its score_mod and its mask_mod read a tensor each, and kernels read one")
    return rule._replace(mask=mask.mask, bias=mask.bias, read=mask.read)


_MOST_REMEMBERED = 1024  # chosen
_TYPES = (int, float, bool)
_DEEPEST = 8  # chosen: functions that hold functions
_known: Dict[Any, Any] = {}  # results or exceptions, by key
# The same of functions that hold tensors, which the entries keep so that none has another's id.
_with_tensors: "weakref.WeakKeyDictionary[Any, Dict[Any, Any]]" = weakref.WeakKeyDictionary()
_globals_read: Dict[CodeType, Tuple[str, ...]] = {}


def _remembered(role: str, function: Callable[..., Any], find: Callable[..., Rule],
                lengths: Tuple[int, int]) -> Rule:
    key: Any = None
    tensors: List[torch.Tensor] = []
    found: Any = None
    with contextlib.suppress(_Changing, ValueError):  # the latter of a variable without a value
        key = role, _key(function, 0, tensors), lengths if tensors else ()
        found = _with_tensors.get(function, {}).get(key) if tensors else _known.get(key)
    if found is None:
        try:
            found = find(function, *lengths), tensors
        except Refused as why:
            found = Refused(f"its {role} {why}"), tensors
        if key is not None and tensors:
            _with_tensors[function] = {key: found}
        elif key is not None:
            if len(_known) >= _MOST_REMEMBERED:
                _known.clear()
            _known[key] = found
    if isinstance(found[0], Refused):
        raise Refused(*found[0].args)
    rule: Rule = found[0]
    return rule


class _Changing(Exception):
    """A function holds an object that may change unseen."""


def _key(value: Any, depth: int, tensors: List[torch.Tensor]) -> Any:
    """Returns what is equal for values that act alike, and appends the tensors among them. Raises
    _Changing where that is unknown."""
    kind = type(value)
    if kind in (int, float, bool, str, type(None)):
        return kind, value
    if kind is FunctionType and depth < _DEEPEST:
        code, names = value.__code__, value.__globals__
        if code not in _globals_read:
            _globals_read[code] = tuple(_names_in(code))
        held = [(i, cell.cell_contents) for i, cell in enumerate(value.__closure__ or ())]
        held += [(name, names[name]) for name in _globals_read[code] if name in names]
        held += [*enumerate(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).items()]
        return code, tuple((name, _key(each, depth + 1, tensors)) for name, each in held)
    if kind is tuple and depth < _DEEPEST:
        return tuple(_key(each, depth + 1, tensors) for each in value)
    if kind in (torch.Tensor, torch.nn.Parameter) and not value.is_inference():
        tensors.append(value)
        return id(value), value._version, value.requires_grad and torch.is_grad_enabled()
    if value is torch or value is math:
        return value.__name__
    if kind in (BuiltinFunctionType, torch.dtype, torch.device) or value in _TYPES:
        return value
    raise _Changing


def _names_in(code: CodeType) -> List[str]:
    return [*code.co_names, *(name for each in code.co_consts if isinstance(each, CodeType)
                              for name in _names_in(each))]


def _mask_rule(mask_mod: Callable[..., Any], seq_q: int, seq_kv: int) -> Rule:
    """Takes a bool tensor that is one of the conditions of a mask_mod as a bias."""
    conditions = _conditions(traced(mask_mod, _PLACES))
    tensors = [each for each in conditions if each.operation == "lookup" and each.kind == BOOL]
    if len(tensors) != 1:
        return Rule(_mask_text(conditions))
    rest = [each for each in conditions if each is not tensors[0]]
    return Rule(_mask_text(rest), bias=_bias(tensors[0], seq_q, seq_kv),
                read=tensors[0].operands[0])


def _conditions(node: Symbol) -> List[Symbol]:
    """Returns what a mask_mod joins by "and"."""
    if node.operation != "&&":
        return [node]
    return [each for side in node.operands for each in _conditions(side)]


def _mask_text(conditions: List[Symbol]) -> str:
    """Returns the text of conditions joined by "and"."""
    if not conditions:
        return ""
    node = conditions[0]
    for each in conditions[1:]:
        node = Symbol("&&", (node, each), BOOL)
    reads = _why_tensors(node)
    if reads:
        raise Refused(reads)
    if node.kind != BOOL:
        raise Refused("returns a number")
    if any(each.kind == FLOAT for each in nodes(node)):
        raise Refused("computes with fractions, and a mask has integers only")
    if node.operation == "number":
        if not node.operands[0]:
            raise Refused("hides every key")
        return ""
    return text_of(node)


def _score_rule(score_mod: Callable[..., Any], seq_q: int, seq_kv: int) -> Rule:
    node = traced(score_mod, ("score", *_PLACES))
    if node.kind == BOOL:
        raise Refused("returns a bool")
    node, softcap = _without(node, _softcap_of)
    node, lookup = _without(node, _added_to_score)
    reads = _why_tensors(node)
    if reads:
        raise Refused(reads)
    bias = None if lookup is None else _bias(lookup, seq_q, seq_kv)
    return Rule("", "" if _is_score(node) else text_of(node), softcap, bias)


def _is_score(node: Symbol) -> bool:
    return node.operation == "name" and node.operands[0] == "score"


def _without(node: Symbol, found_in: Callable[[Symbol], Any]) -> Tuple[Symbol, Any]:
    """Takes a part that kernels do first out of an expression: where every use of the score is in
    that part, the part becomes the score. Returns the rest and what `found_in` says of the part."""
    part = next((each for each in nodes(node) if found_in(each) is not None), None)
    if part is None:
        return node, None
    text, done = text_of(part), Symbol("name", ("",), FLOAT)

    def replaced(each: Symbol) -> Symbol:
        if text_of(each) == text:
            return done
        if each.operation in ("name", "number", "lookup"):
            return each
        return Symbol(each.operation, tuple(map(replaced, each.operands)), each.kind, each.natural)

    rest = replaced(node)
    if any(map(_is_score, nodes(rest))):
        return node, None
    done.operands = ("score",)
    return rest, found_in(part)


def _softcap_of(node: Symbol) -> Optional[float]:
    """Returns X of X * tanh(score / X)."""
    if node.operation != "*":
        return None
    for cap, wave in (node.operands, node.operands[::-1]):
        if cap.operation == "number" and wave.operation == "tanh":
            inner = wave.operands[0]
            if (inner.operation == "/" and _is_score(inner.operands[0])
                    and is_number(inner.operands[1], cap.operands[0]) and cap.operands[0] > 0):
                return float(cap.operands[0])
    return None


def _added_to_score(node: Symbol) -> Optional[Symbol]:
    """Returns the lookup of score + tensor[...]."""
    if node.operation == "+":
        for one, other in (node.operands, node.operands[::-1]):
            if _is_score(one) and other.operation == "lookup" and other.kind == FLOAT:
                return other
    return None


def _bias(lookup: Symbol, seq_q: int, seq_kv: int) -> torch.Tensor:
    """Returns a view (batch, heads, queries, keys) of the tensor of a lookup; a place that is
    missing has size 1."""
    tensor, places = lookup.operands
    names, i = [], 0
    for place in places:
        if place.operation == "number":
            tensor = tensor.select(i, place.operands[0])
            continue
        if place.operation != "name" or place.operands[0] in names:
            raise Refused(f"reads {text_of(lookup)}, which is no bias[b, h, q, k]")
        names.append(place.operands[0])
        i += 1
    tensor = tensor.permute([names.index(name) for name in _PLACES if name in names])
    for i, name in enumerate(_PLACES):
        if name not in names:
            tensor = tensor.unsqueeze(i)
        elif name in "qk":
            tensor = tensor.narrow(i, 0, min(tensor.shape[i], seq_q if name == "q" else seq_kv))
    return tensor
