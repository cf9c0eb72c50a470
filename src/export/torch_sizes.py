# torch_sizes.py: Evaluates expressions over the run-time sizes of custom operations.

_GRID = (2**31 - 1, 65535, 65535)  # CUDA's limits
_FUNCTIONS = {"__builtins__": {}, "ceil_div": lambda a, b: -(-a // b), "floor_div": lambda a, b: a // b,
              "round_up": lambda a, b: -(-a // b) * b, "min": lambda *values: min(values),
              "max": lambda *values: max(values)}


@functools.lru_cache(None)
def _code(expression):
    """Compiles an expression that fatune wrote."""
    return compile(expression, __file__, "eval")


def _value(expression, sizes):
    """The value for run-time sizes by name, which may be symbolic."""
    return eval(_code(expression), _FUNCTIONS, sizes)


def _whole(expression, sizes, least, most):
    """The value as an int; ValueError if it is none from `least` to `most`."""
    value = _value(expression, sizes)
    if value != value // 1 or not least <= value <= most:
        given = ", ".join(f"{name}={size}" for name, size in sizes.items())
        raise ValueError(f"{expression} is {value} for {given}, but must be a whole number from {least} to {most}")
    return int(value)


def _scalar(text, sizes):
    """Returns the ctypes value of an argument by value, such as 'i32 1024' or 'i64 n'."""
    kind, expression = text.split(" ", 1)
    value = _value(expression, sizes)
    passed = _SCALARS[kind](float(value) if kind[0] == "f" else int(value))
    if kind[0] != "f" and passed.value != value:
        raise ValueError(f"{expression} is {value}, which {kind} does not hold")
    return passed


def _shape(tensor, sizes):
    """The shape for run-time sizes; as tuned for a tensor that depends on none."""
    return tuple(_value(each, sizes) for each in tensor.get("shape_expressions", ())) or tuple(tensor["shape"])


class _Plan:
    """A plan holds what a launch needs for some run-time sizes: grids, values, offsets of scratch, shapes of outputs."""

    def __init__(self, facts, sizes):
        for name in sizes:
            _whole(name, sizes, 1, 2**53)
        self.stages = [{**stage, "grid": [_whole(each, sizes, 1, most) for each, most in
                                          zip(stage.get("grid_expressions", map(str, stage["grid"])), _GRID)]}
                       for stage in facts["stages"]]
        for stage in self.stages:
            if any(blocks % cluster for blocks, cluster in zip(stage["grid"], stage["cluster"])):
                raise ValueError(f"clusters of {stage['cluster']} blocks do not divide the grid {stage['grid']}")
        self.scalars = {text: _scalar(text, sizes) for stage in facts["stages"] for text in stage["arguments"] if " " in text}
        self.scratch, self.bytes = {}, 0
        for scratch in facts["scratch"]:
            self.scratch[scratch["name"]] = self.bytes
            self.bytes += (_whole(scratch.get("bytes_expression", str(scratch["bytes"])), sizes, 0, 2**53) + 255) // 256 * 256
        self.outputs = [_shape(tensor, sizes) for tensor in facts["tensors"] if tensor["output"]]
