"""expression.py: Evaluates expressions of a mask or of scores, as src/model/problem/rule.hpp."""
import math
import operator
import re

import torch


def is_float(value):
    return value.is_floating_point() if torch.is_tensor(value) else isinstance(value, float)


def tensor(value):
    return value if torch.is_tensor(value) else torch.tensor(value, device="cuda")


def divided(a, b):
    if is_float(a) or is_float(b):
        return a / b
    return torch.div(tensor(a), b, rounding_mode="trunc")


def whole(condition):
    """As C's: 1 or 0."""
    return condition.int() if torch.is_tensor(condition) else int(condition)


def compared(function):
    return lambda a, b: whole(function(a, b))


def floating(name):
    return lambda a: getattr(torch, name)(tensor(a).float())


OPERATORS = {
    "?": lambda condition, a, b: torch.where(tensor(condition) != 0, a, b),
    "||": lambda a, b: whole((tensor(a) != 0) | (tensor(b) != 0)),
    "&&": lambda a, b: whole((tensor(a) != 0) & (tensor(b) != 0)),
    "!": lambda a: whole(a == 0), "~": lambda a: -a - 1,
    "|": operator.or_, "^": operator.xor, "&": operator.and_, "+": operator.add,
    "-": lambda a, b=None: -a if b is None else a - b, "*": operator.mul,
    "==": compared(operator.eq), "!=": compared(operator.ne), "<": compared(operator.lt),
    "<=": compared(operator.le), ">": compared(operator.gt), ">=": compared(operator.ge),
    "<<": operator.lshift, ">>": operator.rshift, "/": divided,
    "%": lambda a, b: torch.fmod(tensor(a), b),
    "floor_div": operator.floordiv, "floor_mod": operator.mod,
    "min": lambda a, b: torch.minimum(tensor(a), tensor(b)),
    "max": lambda a, b: torch.maximum(tensor(a), tensor(b)), "abs": abs,
    "float": lambda a: tensor(a).float(), "exp": floating("exp"), "exp2": floating("exp2"),
    "log": floating("log"), "log2": floating("log2"), "sqrt": floating("sqrt"),
    "tanh": floating("tanh"),
    "[": lambda elements, *indices: elements[tuple(tensor(each) for each in indices)],
}
NAMES = ("batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim")


def named_tensor(text):
    """Returns the name in "doc=i32[6]:0*3,1*3" and the tensor, or None if it is of f32."""
    name, _, rest = text.partition("=")
    kind, _, runs = rest.partition(":")
    if not kind.startswith("i32"):
        return name, None
    runs = [run.partition("*") for run in runs.split(",")]
    elements = [int(value) for value, _, count in runs for _ in range(int(count or 1))]
    shape = [int(size) for size in re.findall(r"\[(\d+)\]", kind)]
    return name, torch.tensor(elements, dtype=torch.int32, device="cuda").view(shape)


def expression(calls, sizes, tensors=None):
    """Returns a function of (score, b, h, q, k), scalars or tensors; None without an expression.
    `tensors` holds named tensors by name; f32 ones may be added until the first call."""
    if calls is None:
        return None
    names = {name.upper(): sizes[name] for name in NAMES} | {"INFINITY": math.inf, "o": OPERATORS}
    names["t"] = tensors
    function = eval(f"lambda score, b, h, q, k: {calls}", names)
    function.names = set(re.findall(r"\w+", calls))
    return function
