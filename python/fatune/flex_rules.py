"""flex_rules.py: Turns FlexAttention's mask_mod and score_mod into the texts of a problem's mask and score."""
from __future__ import annotations

import re
from types import FunctionType
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import torch

from . import remembering
from .expressions import (BOOL, FLOAT, LEAVES, Calls, Refused, Symbol, is_number, nodes, text_of,
                          traced)
from .named_tensors import Read, named, read

_PLACES = ("b", "h", "q", "k")


class Rule(NamedTuple):
    """The mask and the changes of scores of a call, as a problem says them. Texts are empty where
    there is none. `bias` is a tensor (batch, heads, queries, keys) that is added, or a bool tensor
    that hides keys beside the mask; dimensions of size 1 stand for all. `tensors` are those that
    the texts read. `held` are all that the mask_mod reads."""

    mask: str = ""
    score: str = ""
    softcap: Optional[float] = None
    bias: Optional[torch.Tensor] = None
    tensors: Tuple[Read, ...] = ()
    held: Tuple[torch.Tensor, ...] = ()

    def asked(self, query: torch.Tensor, key: torch.Tensor) -> "Asked":
        """Returns what kernels are found by."""
        mask, score, softcap, bias, tensors, _ = self
        return Asked(mask, score, softcap, bias is not None, query.shape[2], key.shape[2],
                     tuple([each.form for each in tensors]))


UNCHANGED = Rule()


class Asked(NamedTuple):
    """A rule's texts, whether it has a bias, the lengths, and declarations of the tensors that the
    texts read."""

    mask: str
    score: str
    softcap: Optional[float]
    biased: bool
    seq_q: int
    seq_kv: int
    tensors: Tuple[str, ...]


def rule_of(mask_mod: Optional[Callable[..., Any]], score_mod: Optional[Callable[..., Any]],
            seq_q: int, seq_kv: int) -> Rule:
    """Returns the rule of a call of these lengths: the same object while the functions are the same
    and nothing that they read has changed. A function is called with Symbols once for the numbers
    and functions in its closure, its defaults and the globals that it reads, and for the sizes,
    strides and types of tensors there. A tensor whose values were used is another when it was
    written to. A function that holds anything else is called each time. Raises Refused, whose
    message is a sentence."""
    lengths = seq_q, seq_kv
    score = UNCHANGED if score_mod is None else of_score(score_mod, lengths)
    return score if mask_mod is None else joined(score, of_mask(mask_mod, lengths))


def of_score(score_mod: Callable[..., Any], lengths: Tuple[int, int]) -> Rule:
    """Returns the rule of a score_mod alone, as rule_of() does."""
    return _remembered("score_mod", score_mod, _score_rule, lengths)


def of_mask(mask_mod: Callable[..., Any], lengths: Tuple[int, int]) -> Rule:
    """Returns the rule of a mask_mod alone, as rule_of() does."""
    return _remembered("mask_mod", mask_mod, _mask_rule, lengths)


def joined(score: Rule, mask: Rule) -> Rule:
    """Returns the rule of a score_mod and a mask_mod. The mask's tensors are the first."""
    if score.bias is None and score.softcap is None and not score.score:
        return mask
    if score.bias is not None and mask.bias is not None:
        raise Refused("its score_mod adds a tensor and its mask_mod hides keys by one, and kernels "
                      "take one bias")
    first = len(mask.tensors)
    text = re.sub(r"\bt(\d+)\[", lambda found: f"t{first + int(found[1])}[", score.score)
    more = (each.numbered(first + i) for i, each in enumerate(score.tensors))
    bias = score.bias if mask.bias is None else mask.bias
    return Rule(mask.mask, text, score.softcap, bias, (*mask.tensors, *more), mask.held)


class _Form(NamedTuple):
    """A rule without its bias and tensors, the lookup of the bias, and the tensors that the texts
    read. A tensor may be its place among those that a function holds. `hides`: it is of a mask_mod.
    """

    rule: Rule
    lookup: Optional[Symbol] = None
    tensors: Tuple[Any, ...] = ()
    hides: bool = False


_memories = {"mask_mod": remembering.Memory(), "score_mod": remembering.Memory()}


def _remembered(role: str, function: Callable[..., Any], find: Callable[..., _Form],
                lengths: Tuple[int, int]) -> Rule:
    memory, found = _memories[role], None
    if type(function) is FunctionType:
        found = memory.known(function, lengths)
    if found is None:
        found = _found(memory, role, function, find, lengths)
    if isinstance(found, Refused):
        raise Refused(*found.args)
    rule: Rule = found
    return rule


def _found(memory: remembering.Memory, role: str, function: Any, find: Callable[..., _Form],
           lengths: Tuple[int, int]) -> Any:
    """Returns the rule of a function, or Refused, and remembers it."""
    held = remembering.held_by(function)
    tensors = held.tensors if held else []
    form, calls = memory.forms.get(held.key) if held else None, Calls()
    found: Any = form
    try:
        if form is None:
            form = find(function, calls)
        if isinstance(form, _Form):
            found = _filled_in(form, tensors, lengths)
    except Refused as why:
        found = form = Refused(f"its {role} {why}")
    if held is None:
        return found
    if not tensors or not (calls.computed or any(each.numel() == 1 for each in tensors)):
        remembering.remember(memory.forms, held.key, _emptied(form, tensors))
    elif not held.are_values_known():
        return found
    memory.keep(function, held, lengths, found)
    return found


def _filled_in(form: _Form, tensors: List[torch.Tensor], lengths: Tuple[int, int]) -> Rule:
    """Returns the rule of a form with the tensors that a function holds now."""
    def found(tensor: Any) -> torch.Tensor:
        return tensors[tensor] if isinstance(tensor, int) else tensor

    given = [found(each) for each in form.tensors]
    rule = form.rule._replace(tensors=tuple(read(i, each) for i, each in enumerate(given)))
    if form.lookup is not None:
        tensor, its_places = form.lookup.operands
        given.append(found(tensor))
        lookup = Symbol("lookup", (given[-1], its_places), form.lookup.kind)
        rule = rule._replace(bias=_bias(lookup, *lengths))
    return rule._replace(held=tuple(given)) if form.hides else rule


def _emptied(form: Any, tensors: List[torch.Tensor]) -> Any:
    """Returns a form without the tensors that a function holds, or Refused."""
    if isinstance(form, Refused):
        return form

    def place_of(tensor: torch.Tensor) -> Any:
        return next((i for i, each in enumerate(tensors) if each is tensor), tensor)

    form = form._replace(tensors=tuple(map(place_of, form.tensors)))
    if form.lookup is None:
        return form
    tensor, its_places = form.lookup.operands
    return form._replace(lookup=Symbol("lookup", (place_of(tensor), its_places), form.lookup.kind))


def _mask_rule(mask_mod: Callable[..., Any], calls: Calls) -> _Form:
    """Takes a bool tensor that is one of the conditions of a mask_mod as a bias: that of most
    dimensions."""
    conditions = _conditions(traced(mask_mod, _PLACES, calls))
    bias = max((each for each in conditions if each.kind == BOOL and _is_bias(each)),
               key=lambda each: each.operands[0].dim(), default=None)
    tensors: List[torch.Tensor] = []
    text = _mask_text([named(each, tensors) for each in conditions if each is not bias])
    return _Form(Rule(text), bias, tuple(tensors), True)


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
    if node.kind != BOOL:
        raise Refused("returns a number")
    if any(each.kind == FLOAT for each in nodes(node)):
        raise Refused("computes with fractions, and a mask has integers only")
    if node.operation == "number":
        if not node.operands[0]:
            raise Refused("hides every key")
        return ""
    return text_of(node)


def _score_rule(score_mod: Callable[..., Any], calls: Calls) -> _Form:
    node = traced(score_mod, ("score", *_PLACES), calls)
    if node.kind == BOOL:
        raise Refused("returns a bool")
    node, softcap = _without(node, _softcap_of)
    node, lookup = _without(node, _added_to_score)
    tensors: List[torch.Tensor] = []
    node = named(node, tensors)
    text = "" if _is_score(node) else text_of(node)
    return _Form(Rule("", text, softcap), lookup, tuple(tensors))


def _is_score(node: Symbol) -> bool:
    return node.operation == "name" and node.operands[0] == "score"


def _without(node: Symbol, found_in: Callable[[Symbol], Any]) -> Tuple[Symbol, Any]:
    """Takes a part that kernels do first out of an expression: where every use of the score is in
    that part, the part becomes the score. Returns the rest and what `found_in` says of the part."""
    part = next((each for each in nodes(node) if found_in(each) is not None), None)
    if part is None:
        return node, None
    found, done = _told(part), Symbol("name", ("",), FLOAT)

    def replaced(each: Symbol) -> Symbol:
        if _told(each) == found:
            return done
        if each.operation in LEAVES:
            return each
        return Symbol(each.operation, tuple(map(replaced, each.operands)), each.kind, each.natural)

    rest = replaced(node)
    if any(map(_is_score, nodes(rest))):
        return node, None
    done.operands = ("score",)
    return rest, found_in(part)


def _told(node: Symbol) -> Tuple[str, List[int]]:
    """Returns what is equal for equal expressions."""
    return text_of(node), [
        id(each.operands[0]) for each in nodes(node) if each.operation == "lookup"]


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
    """Returns the lookup of score + tensor[b, h, q, k]."""
    if node.operation == "+":
        for one, other in (node.operands, node.operands[::-1]):
            if _is_score(one) and other.kind == FLOAT and _is_bias(other):
                return other
    return None


def _is_bias(node: Symbol) -> bool:
    """Whether a node reads a tensor at its key, and at fixed or other places."""
    if node.operation != "lookup":
        return False
    names = [each.operands[0] for each in node.operands[1] if each.operation == "name"]
    fixed = sum(each.operation == "number" for each in node.operands[1])
    return ("k" in names and len(names) == len(set(names))
            and len(names) + fixed == len(node.operands[1]))


def _bias(lookup: Symbol, seq_q: int, seq_kv: int) -> torch.Tensor:
    """Returns a view (batch, heads, queries, keys) of the tensor of a lookup; a place that is
    missing has size 1."""
    tensor, places = lookup.operands
    names, i = [], 0
    for place in places:
        if place.operation == "number":
            if not -tensor.shape[i] <= place.operands[0] < tensor.shape[i]:
                raise Refused(f"reads {text_of(lookup)}, and has {tensor.shape[i]} elements there")
            tensor = tensor.select(i, place.operands[0])
            continue
        names.append(place.operands[0])
        i += 1
    tensor = tensor.permute([names.index(name) for name in _PLACES if name in names])
    for i, name in enumerate(_PLACES):
        if name not in names:
            tensor = tensor.unsqueeze(i)
        elif name in "qk":
            tensor = tensor.narrow(i, 0, min(tensor.shape[i], seq_q if name == "q" else seq_kv))
    return tensor
