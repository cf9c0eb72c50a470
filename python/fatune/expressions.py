"""expressions.py: Stands for values that depend on a score's place, and writes what is computed of them as C."""
from __future__ import annotations

import math
import operator
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.overrides import TorchFunctionMode

BOOL, INT, FLOAT = range(3)  # kinds of values, in the order of promotion
_INT32 = 1 << 31
# C's precedence, from the loosest; a call, a name or a number binds tightest.
_LEVELS = {word: level for level, words in enumerate(
    ("?", "||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %", "neg ! ~"))
    for word in words.split()}
_TIGHTEST = len(_LEVELS)
LEAVES = ("name", "number", "lookup", "element")


class Refused(Exception):
    """A function has no text; the message says why, behind "its mask_mod"."""


class Symbol:
    """A value: an operation and its operands, which are Symbols. A `number`, a `name`, a `lookup`
    in a tensor and an `element` of one that has a name have other operands. `natural`: it is an integer and never negative."""

    def __init__(self, operation: str, operands: Tuple[Any, ...], kind: int,
                 natural: bool = False) -> None:
        self.operation, self.operands = operation, operands
        self.kind, self.natural = kind, natural

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (),
                           options: Any = None) -> Any:
        return _apply(function, args, options or {})

    def __bool__(self) -> bool:
        if self.operation == "number":
            return bool(self.operands[0])
        raise Refused("branches on its arguments")

    def _as_number(self, *_: Any) -> Any:
        raise Refused("needs a number of Python where it has an argument")

    __int__ = __float__ = __index__ = __iter__ = __len__ = _as_number

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "device":
            return torch.device("cpu")
        if name not in _FUNCTIONS:
            raise Refused(f"uses .{name}")
        return lambda *args, **options: _FUNCTIONS[name](self, *args, **options)

    def __getitem__(self, index: Any) -> "Symbol":
        tensor, places = self.operands if self.operation == "lookup" else (None, ())
        return _lookup(tensor, (*places, *(index if isinstance(index, tuple) else (index,))))

    __hash__ = object.__hash__


def symbol(value: Any) -> Symbol:
    """Returns a constant as a Symbol. A tensor of one element on the CPU is a constant, too."""
    if isinstance(value, Symbol):
        if value.operation == "lookup" and len(value.operands[1]) != value.operands[0].dim():
            raise Refused("takes a row of a tensor")
        return value
    if isinstance(value, torch.Tensor):
        if value.numel() != 1:
            raise Refused(f"reads a tensor of {tuple(value.shape)}")
        if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.device.type != "cpu":
            raise Refused("reads a number from a tensor that is not on the CPU")
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        try:
            value = operator.index(value)
        except TypeError:
            raise Refused(f"uses a {type(value).__name__}") from None
    if value != value:
        raise Refused("uses the number NaN")
    kind = {bool: BOOL, float: FLOAT}.get(type(value), INT)
    if kind == INT and not -_INT32 < value < _INT32:
        raise Refused(f"uses {value}, which has more than 32 bits")
    return Symbol("number", (value,), kind, kind == INT and value >= 0)


def is_number(node: Symbol, value: Any) -> bool:
    """Whether a node is this constant."""
    return node.operation == "number" and bool(node.operands[0] == value)


def nodes(node: Symbol) -> List[Symbol]:
    """Returns a node and all below it, but not the places of lookups."""
    inner = () if node.operation in LEAVES else node.operands
    return [node, *(below for each in inner for below in nodes(each))]


def text_of(node: Symbol, least: int = 0) -> str:
    """Returns the text of a node, in parentheses where it binds more loosely than `least`."""
    word, operands = node.operation, node.operands
    if word == "name":
        return str(operands[0])
    if word == "number":
        text = repr(operands[0]).replace("inf", "INFINITY") if node.kind == FLOAT else (
            str(int(operands[0])))
        return f"({text})" if text[0] == "-" and least > _LEVELS["+"] else text
    if word == "lookup":
        return f"a tensor of {tuple(operands[0].shape)}[{', '.join(map(text_of, operands[1]))}]"
    if word == "element":
        return f"{operands[0]}[{']['.join(map(text_of, operands[1]))}]"
    if word not in _LEVELS:
        return f"{word}({', '.join(map(text_of, operands))})"
    level = _LEVELS[word]
    if word == "?":
        text = "{} ? {} : {}".format(*(text_of(each, 1) for each in operands))
    elif len(operands) == 1:
        text = f"{'-' if word == 'neg' else word}{text_of(operands[0], level + 1)}"
    else:
        compares_bools = word in ("==", "!=") and operands[0].kind == BOOL
        sides = (_TIGHTEST, _TIGHTEST) if compares_bools else (level, level + 1)
        text = f" {word} ".join(map(text_of, operands, sides))
    return f"({text})" if level < least else text


def traced(function: Callable[..., Any], names: Sequence[str], calls: "Calls") -> Symbol:
    """Calls a function with names in place of its arguments; `score` is a fraction. Raises
    Refused, whatever the function raises."""
    arguments = [Symbol("name", (name,), FLOAT if name == "score" else INT, name != "score")
                 for name in names]
    try:
        with calls:
            return symbol(function(*arguments))
    except Refused:
        raise
    except Exception as error:  # it was written for tensors
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise Refused(f"does not run on symbols: {line}") from error


class Calls(TorchFunctionMode):
    """Sees tensors that are indexed by Symbols, which PyTorch does not tell the Symbols. `computed`:
    a function may have read values of tensors, but not those of one element in expressions."""

    computed = False

    def __torch_function__(self, function: Any, types: Any, args: Any = (),
                           kwargs: Any = None) -> Any:
        given = _flat(args, kwargs or {})
        if not any(isinstance(each, Symbol) for each in given):
            found = function(*args, **(kwargs or {}))
            self.computed = self.computed or any(isinstance(each, torch.Tensor) for each in given) and (
                function.__name__ not in _OF_FORM or isinstance(found, torch.Tensor))
            return found
        return _apply(function, args, kwargs or {})


_OF_FORM = ("__get__", "dim", "size", "numel", "stride", "is_floating_point")
"""Names of functions that read a tensor's sizes and type, and of getters of attributes."""


def _flat(args: Tuple[Any, ...], options: Dict[str, Any]) -> List[Any]:
    flat = [*args, *options.values()]
    return flat + [one for each in flat if isinstance(each, (tuple, list)) for one in each]


def _apply(function: Any, args: Tuple[Any, ...], options: Dict[str, Any]) -> Any:
    """Calls what stands for a function of PyTorch, one of whose arguments is a Symbol."""
    name = function.__name__.strip("_")
    if name == "getitem":
        return _lookup(args[0], args[1] if isinstance(args[1], (tuple, list)) else (args[1],))
    if name not in _FUNCTIONS:
        raise Refused(f"calls {name}()")
    return _FUNCTIONS[name](*args, **options)


def _lookup(tensor: Any, index: Sequence[Any]) -> Symbol:
    """An element of a tensor, or a row while places are still missing."""
    places = [symbol(each) for each in index]
    if (type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout != torch.strided
            or len(places) > tensor.dim() or any(each.kind != INT for each in places)):
        raise Refused("takes an element in another form than tensor[b, h, q, k]")
    kind = BOOL if tensor.dtype == torch.bool else FLOAT if tensor.is_floating_point() else INT
    return Symbol("lookup", (tensor, places), kind)


# The functions below build Symbols; constants are computed at once.

_COMPUTE: Dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne, "min": min, "max": max, "floor_div": operator.floordiv,
    "floor_mod": operator.mod, "neg": operator.neg, "~": operator.invert, "!": operator.not_,
    "abs": abs, "float": float, "fraction": operator.truediv, "exp2": lambda value: 2.0**value}


def _made(word: str, operands: Sequence[Symbol], kind: int, natural: bool = False,
          compute: str = "") -> Symbol:
    if all(each.operation == "number" for each in operands):
        found = _COMPUTE.get(compute or word) or getattr(math, word)
        return symbol(found(*(each.operands[0] for each in operands)))
    return Symbol(word, tuple(operands), kind, natural)


def _number(value: Any) -> Symbol:
    """A bool counts as 0 or 1."""
    value = symbol(value)
    return _where(value, 1, 0) if value.kind == BOOL else value


def _sum(word: str) -> Callable[..., Symbol]:
    """Returns +, - or *, which leave out 0 or 1."""
    def build(left: Any, right: Any) -> Symbol:
        left, right = symbol(left), symbol(right)
        if left.kind == right.kind == BOOL and word != "-":  # PyTorch's sum of bools is one
            return _either(left, right) if word == "+" else _both(left, right)
        left, right = _number(left), _number(right)
        idle, kind = int(word == "*"), max(left.kind, right.kind)
        if is_number(right, idle) and left.kind == kind:
            return left
        if is_number(left, idle) and right.kind == kind and word != "-":
            return right
        return _made(word, (left, right), kind, word != "-" and left.natural and right.natural)
    return build


def _floored(word: str, function: str) -> Callable[..., Symbol]:
    """Returns // or %, which are C's where neither side is negative."""
    def build(left: Any, right: Any) -> Symbol:
        left, right = _integers(left, right)
        if is_number(right, 0):
            raise Refused("divides by zero")
        natural = left.natural and right.natural
        return _made(word if natural else function, (left, right), INT, natural, function)
    return build


def _integers(*values: Any) -> List[Symbol]:
    found = [_number(each) for each in values]
    if any(each.kind == FLOAT for each in found):
        raise Refused("needs whole numbers where it has a fraction")
    return found


def _divide(left: Any, right: Any, *, rounding_mode: Optional[str] = None) -> Symbol:
    if rounding_mode is not None:
        if rounding_mode != "floor":
            raise Refused(f"divides with rounding_mode={rounding_mode!r}")
        return _floor_divide(left, right)
    left, right = _number(left), _number(right)
    if is_number(right, 0):
        raise Refused("divides by zero")
    return _made("/", (_to_float(left), right), FLOAT, compute="fraction")


def _power(base: Any, exponent: Any) -> Symbol:
    base, exponent = symbol(base), symbol(exponent)
    if is_number(exponent, 2):
        return _times(base, base)
    if not is_number(base, 2):
        raise Refused("raises to a power other than 2")
    if exponent.natural and base.kind == INT:
        return _FUNCTIONS["lshift"](base, exponent)  # type: ignore[no-any-return]
    return _FUNCTIONS["exp2"](exponent)  # type: ignore[no-any-return]


def _compared(word: str) -> Callable[..., Symbol]:
    def build(left: Any, right: Any) -> Symbol:
        left, right = symbol(left), symbol(right)
        if word not in ("==", "!=") or not left.kind == right.kind == BOOL:
            left, right = _number(left), _number(right)
        if word == ">=" and left.natural and is_number(right, 0):
            return symbol(True)
        return _made(word, (left, right), BOOL)
    return build


def _logical(word: str) -> Callable[..., Symbol]:
    """Returns && or ||."""
    def build(left: Any, right: Any) -> Symbol:
        left, right = _truth(left), _truth(right)
        for one, other in ((left, right), (right, left)):
            if one.operation == "number":  # and leaves the other as it is, or is all
                return other if bool(one.operands[0]) == (word == "&&") else one
        return Symbol(word, (left, right), BOOL)
    return build


def _bits(word: str, logical: Optional[Callable[..., Symbol]] = None) -> Callable[..., Symbol]:
    """Returns an operation on bits, which is a logical one between bools."""
    def build(left: Any, right: Any) -> Symbol:
        left, right = symbol(left), symbol(right)
        if logical is not None and left.kind == right.kind == BOOL:
            return logical(left, right)
        left, right = _integers(left, right)
        return _made(word, (left, right), INT, left.natural and (right.natural or logical is None))
    return build


def _truth(value: Any) -> Symbol:
    value = symbol(value)
    return value if value.kind == BOOL else _not_equal(value, 0)


def _not(value: Any) -> Symbol:
    return _made("!", (_truth(value),), BOOL)


def _invert(value: Any) -> Symbol:
    value = symbol(value)
    return _not(value) if value.kind == BOOL else _made("~", _integers(value), INT)


def _negative(value: Any) -> Symbol:
    value = _number(value)
    return _made("neg", (value,), value.kind)


def _where(condition: Any, left: Any, right: Any) -> Symbol:
    condition, left, right = _truth(condition), symbol(left), symbol(right)
    if condition.operation == "number":
        return left if condition.operands[0] else right
    if left.kind != right.kind:
        left, right = _number(left), _number(right)
    return Symbol("?", (condition, left, right), max(left.kind, right.kind),
                  left.natural and right.natural)


def _absolute(value: Any) -> Symbol:
    value = _number(value)
    return value if value.natural else _made("abs", (value,), value.kind, value.kind == INT)


def _extreme(name: str) -> Callable[..., Symbol]:
    def build(left: Any, right: Any) -> Symbol:
        pair = (_number(left), _number(right))
        kind = max(each.kind for each in pair)
        if kind == FLOAT:
            pair = (_to_float(pair[0]), _to_float(pair[1]))
        return _made(name, pair, kind, all(each.natural for each in pair))
    return build


def _clamp(value: Any, min: Any = None, max: Any = None) -> Symbol:  # PyTorch's names
    value = symbol(value) if min is None else _FUNCTIONS["maximum"](value, min)
    return value if max is None else _FUNCTIONS["minimum"](value, max)


def _of_fractions(name: str) -> Callable[..., Symbol]:
    return lambda value: _made(name, (_to_float(value),) if symbol(value).operation == "number"
                               else (_number(value),), FLOAT)


def _to_float(value: Any) -> Symbol:
    value = _number(value)
    return value if value.kind == FLOAT else _made("float", (value,), FLOAT)


def _to(value: Any, *what: Any, dtype: Any = None, **_: Any) -> Symbol:
    """Converts to a type. A move between devices changes nothing, nor do other fractions."""
    value = symbol(value)
    for each in (*what, dtype):
        if isinstance(each, torch.dtype):
            value = (_to_float(value) if each.is_floating_point else
                     _truth(value) if each == torch.bool else _integers(value)[0])
    return value


def _filled(number: Any) -> Callable[..., Symbol]:
    """Returns new_ones() and the like, whose sizes do not matter."""
    return lambda like, *_, dtype=None, **__: _to(number, dtype=dtype)


_times, _floor_divide = _sum("*"), _floored("/", "floor_div")
_not_equal, _both, _either = _compared("!="), _logical("&&"), _logical("||")
_OPERATORS: Dict[str, Callable[..., Any]] = {
    "add": _sum("+"), "sub": _sum("-"), "mul": _times, "truediv": _divide,
    "floordiv": _floor_divide, "mod": _floored("%", "floor_mod"), "pow": _power,
    "and": _bits("&", _both), "or": _bits("|", _either), "xor": _bits("^", _not_equal),
    "lshift": _bits("<<"), "rshift": _bits(">>")}
_METHODS: Dict[str, Callable[..., Any]] = {
    **{name: _compared(word) for name, word in
       (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!="))},
    "neg": _negative, "invert": _invert, "abs": _absolute, **_OPERATORS,
    **{f"r{name}": (lambda right, left, build=build: build(left, right))
       for name, build in _OPERATORS.items()}}
_FUNCTIONS: Dict[str, Callable[..., Any]] = {
    **_METHODS, **{name: _of_fractions(name) for name in
                   ("exp", "exp2", "log", "log2", "sqrt", "tanh")},
    "div": _divide, "true_divide": _divide, "floor_divide": _floor_divide,
    "remainder": _OPERATORS["mod"], "where": _where, "minimum": _extreme("min"),
    "maximum": _extreme("max"), "clamp": _clamp, "logical_and": _both, "logical_or": _either,
    "logical_not": _not, "bitwise_and": _OPERATORS["and"], "bitwise_or": _OPERATORS["or"],
    "bitwise_not": _invert, "to": _to, "float": _to_float, "bool": _truth,
    "int": lambda value: _to(value, torch.int32), "long": lambda value: _to(value, torch.int64),
    "new_ones": _filled(1), "new_zeros": _filled(0), "ones_like": _filled(1),
    "zeros_like": _filled(0), "item": Symbol._as_number}
for _name, _build in _METHODS.items():
    setattr(Symbol, f"__{_name}__", _build)
