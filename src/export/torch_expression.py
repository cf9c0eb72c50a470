# torch_expression.py: Evaluates expressions of masks and scores by PyTorch's operations, to check kernels.

def _whole(condition):
    """As C's: 1 or 0."""
    return condition.int() if isinstance(condition, torch.Tensor) else int(condition)


def _tensor(value):
    return value if isinstance(value, torch.Tensor) else torch.tensor(value, device="cuda")


def _divided(a, b):
    a, b = _tensor(a), _tensor(b)
    return a / b if a.is_floating_point() or b.is_floating_point() else torch.div(a, b, rounding_mode="trunc")


_OPERATIONS = {
    "?": lambda condition, a, b: torch.where(_tensor(condition) != 0, a, b),
    "||": lambda a, b: _whole((_tensor(a) != 0) | (_tensor(b) != 0)),
    "&&": lambda a, b: _whole((_tensor(a) != 0) & (_tensor(b) != 0)),
    "!": lambda a: _whole(a == 0), "~": lambda a: -a - 1, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b, "+": lambda a, b: a + b, "-": lambda a, b=None: -a if b is None else a - b,
    "*": lambda a, b: a * b, "/": _divided, "%": lambda a, b: torch.fmod(_tensor(a), b), "floor_div": lambda a, b: a // b,
    "floor_mod": lambda a, b: a % b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "==": lambda a, b: _whole(a == b), "!=": lambda a, b: _whole(a != b), "<": lambda a, b: _whole(a < b),
    "<=": lambda a, b: _whole(a <= b), ">": lambda a, b: _whole(a > b), ">=": lambda a, b: _whole(a >= b),
    "min": lambda a, b: torch.minimum(_tensor(a), _tensor(b)), "max": lambda a, b: torch.maximum(_tensor(a), _tensor(b)),
    "abs": abs, "float": lambda a: _tensor(a).float(), "[": lambda elements, *places: elements[tuple(map(_tensor, places))],
    **{name: (lambda a, name=name: getattr(torch, name)(_tensor(a).float()))
       for name in ("exp", "exp2", "log", "log2", "sqrt", "tanh")}}


def _evaluated(calls, problem, tensors, scores):
    """Returns the value of an expression at each place of scores; `calls` is its text as calls of operations."""
    sizes = {name.upper(): problem[name] for name in ("batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim")}
    places = {name: torch.arange(size, device=scores.device).view([-1 if i == j else 1 for j in range(4)])
              for i, (name, size) in enumerate(zip("bhqk", scores.shape))}
    return eval(calls, {**sizes, **places, "INFINITY": math.inf, "score": scores, "o": _OPERATIONS, "t": tensors})
