"""declaring.py: Writes a call of tune_kernel as a folder that `fatune sweep --kernel-dir` takes."""
from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..errors import USAGE, FatuneError
from .rules import grid_expression, holds, text_of
from .signature import Parameter, function_of, parameters_of

AXES = ("x", "y", "z")
BLOCK_NAMES = tuple(f"block_size_{axis}" for axis in AXES)
_TYPES = {"float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool",
          **{f"{sign}{bits}": f"{sign[0]}{bits}" for sign in ("int", "uint")
             for bits in (8, 16, 32, 64)}}
_RELATIVE = 1e-5  # numpy.allclose's, which Kernel Tuner checks by
_MOST_THREADS = 1024
_MOST_TRIED = 1_000_000  # configs that are looked through for a default

_ANSWER = """// answer.cu: Copies the script's answer, which stands for a reference.
{kernels}"""
_COPY = """extern "C" __global__ void copy_{name}({type}* to, const {type}* from) {{
  const long long at = blockIdx.x * 256ll + threadIdx.x;
  if (at < {elements}ll) to[at] = from[at];
}}
"""
_C_TYPES = {"f32": "float", "f64": "double", "bool": "bool", "i8": "signed char",
            "u8": "unsigned char", "i16": "short", "u16": "unsigned short", "i32": "int",
            "u32": "unsigned", "i64": "long long", "u64": "unsigned long long"}


class Call(NamedTuple):
    """The arguments of tune_kernel that say what is tuned."""

    kernel: str
    source: str
    problem_size: Any
    arguments: Sequence[Any]
    parameters: Mapping[str, Sequence[Any]]
    grid_div: Tuple[Any, Any, Any]
    restrictions: Any
    answer: Optional[Sequence[Any]]
    atol: Optional[float]
    constants: Mapping[str, Any]
    shared: Any
    block_names: Sequence[str]

    @property
    def name(self) -> str:
        """The name of the kernel's manifest."""
        return re.sub(r"\W+", "_", function_of(self.kernel)).lower()


def declare(call: Call, folder: Path) -> None:
    """Writes source, manifests and the arrays of a call. Raises FatuneError (2) for what cannot be
    said, with its name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.cu").write_text(call.source, encoding="utf-8")
    known = parameters_of(call.kernel, call.source)
    if len(known) != len(call.arguments):
        raise FatuneError(f"{call.name} has {len(known)} parameters, but the script passes "
                          f"{len(call.arguments)} arguments", USAGE)
    passed, tensors, answers = [], [], []
    for place, (parameter, value) in enumerate(zip(known, call.arguments)):
        if not _is_array(value):
            passed.append(f"{_type(value, parameter.name)} {_number(value)}")
            continue
        name = _free(parameter.name, call, tensors)
        answer = None if call.answer is None else call.answer[place]
        tensors.append(_tensor(name, parameter, value, answer, call.answer is not None, folder))
        passed.append(name)
        if answer is not None:
            answers.append((name, _tensor(f"{name}_answer", Parameter(name, True, False), answer,
                                          None, True, folder)))
    for symbol, value in call.constants.items():
        tensors.append(_tensor(f"{symbol}_data", Parameter(symbol, True, False), value, None, True,
                               folder))
    operation = _operation(call, [*tensors, *(each for _, each in answers)])
    manifest = _manifest(call, passed)
    if answers:
        _write_answer(operation, answers, folder)
        manifest["operation"] = operation["name"]
    else:
        manifest.update(role="reference", operation=operation)
    _write(folder / "kernel.json", manifest)


def default_of(call: Call, rules: Sequence[str]) -> Dict[str, Any]:
    """Returns the first config that the rules and a block's threads allow."""
    configs = itertools.islice(itertools.product(*call.parameters.values()), _MOST_TRIED)
    for values in configs:
        config = dict(zip(call.parameters, values))
        threads = math.prod(int(config.get(name, 1)) for name in call.block_names)
        if threads <= _MOST_THREADS and all(holds(rule, config) for rule in rules):
            return config
    raise FatuneError(f"{call.name}: the restrictions leave none of the first {_MOST_TRIED} "
                      "configs", USAGE)


def _manifest(call: Call, passed: List[str]) -> Dict[str, Any]:
    rules = [text_of(rule, "a restriction", call.parameters) for rule in _listed(call.restrictions)]
    default = default_of(call, rules)
    block = [name if name in call.parameters else "256" if axis == 0 else "1"
             for axis, name in enumerate(call.block_names)]
    stage: Dict[str, Any] = {"entry": call.kernel, "grid": _grid(call), "block": block, "arguments": passed}
    if call.shared is not None:
        stage["shared_bytes"] = text_of(call.shared.get("size", 0), "smem_args", call.parameters)
    return {
        "schema": "fatune.kernel/1", "name": call.name, "source": "kernel.cu",
        "parameters": [{"name": name, "values": [_value(each, name) for each in values],
                        "default": _value(default[name], name)}
                       for name, values in call.parameters.items()],
        "constraints": [{"require": rule} for rule in rules],
        "needs_toolkit_headers": "#include <" in call.source,
        "constants": {symbol: f"{symbol}_data" for symbol in call.constants},
        "stages": [stage]}


def _grid(call: Call) -> List[str]:
    size = call.problem_size
    if callable(size):
        raise FatuneError("problem_size is a function; a number, a text or up to three of them are "
                          "known", USAGE)
    sizes = list(size) if isinstance(size, (tuple, list)) else [size]
    texts = [text_of(each, "problem_size", call.parameters) for each in sizes]
    grid = []
    for axis, divisors in enumerate(call.grid_div):
        if divisors is None:
            name = call.block_names[axis]
            divisors = [name] if name in call.parameters else []
        rules = [text_of(each, f"grid_div_{AXES[axis]}", call.parameters)
                 for each in _listed(divisors)]
        grid.append(grid_expression(texts[axis] if axis < len(texts) else "1", rules))
    return grid


def _operation(call: Call, tensors: List[Dict[str, Any]]) -> Dict[str, Any]:
    operation: Dict[str, Any] = {
        "name": f"{call.name}_of_a_script", "sizes": [{"name": "kernel_tuner"}],
        "typical": [{"kernel_tuner": 1}], "tensors": tensors}
    if any(each.get("output") and each["type"][0] in "fb" and each["type"] != "bool"
           for each in tensors):
        operation["tolerance"] = {"absolute": call.atol if call.atol else 1e-6,
                                  "relative": _RELATIVE}
    return operation


def _tensor(name: str, parameter: Parameter, value: Any, answer: Any, has_answers: bool,
            folder: Path) -> Dict[str, Any]:
    """Declares an array, and writes its elements. Without answers every array that may be written
    is an output; else those with an answer are."""
    array = _contiguous(value)
    kind = _type(array, parameter.name)
    if answer is not None and getattr(answer, "size", None) != array.size:
        raise FatuneError(f"the answer of {parameter.name} has another number of elements", USAGE)
    file = folder / f"{name}.bin"
    file.write_bytes(array.tobytes())
    tensor = {"name": name, "type": kind, "shape": [str(array.size)], "fill": "file",
              "file": file.name}
    if answer is not None or parameter.written and not has_answers:
        tensor["output"] = True
    return tensor


def _write_answer(operation: Dict[str, Any], answers: List[Tuple[str, Dict[str, Any]]],
                  folder: Path) -> None:
    kernels, stages = [], []
    for name, answer in answers:
        elements = answer["shape"][0]
        kernels.append(_COPY.format(name=name, type=_C_TYPES[answer["type"]], elements=elements))
        stages.append({"entry": f"copy_{name}", "grid": [f"ceil_div({elements}, 256)", "1", "1"],
                       "block": ["256", "1", "1"], "arguments": [name, answer["name"]]})
    (folder / "answer.cu").write_text(_ANSWER.format(kernels="".join(kernels)), encoding="utf-8")
    _write(folder / "answer.json", {"schema": "fatune.kernel/1", "name": "answer",
                                    "source": "answer.cu", "role": "reference",
                                    "operation": operation, "stages": stages})


def _write(file: Path, document: Dict[str, Any]) -> None:
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _listed(rules: Any) -> List[Any]:
    if rules is None:
        return []
    return list(rules) if isinstance(rules, (list, tuple)) else [rules]


def _is_array(value: Any) -> bool:
    return bool(getattr(value, "shape", ()))


def _contiguous(value: Any) -> Any:
    if hasattr(value, "get"):  # an array of CuPy
        value = value.get()
    return value if value.flags["C_CONTIGUOUS"] else value.copy()


def _type(value: Any, name: str) -> str:
    kind = _TYPES.get(str(getattr(value, "dtype", type(value).__name__)))
    if kind is None:
        raise FatuneError(f"{name} is of {getattr(value, 'dtype', type(value).__name__)}; numpy's "
                          "integers, bool and floats are known", USAGE)
    return kind


def _number(value: Any) -> str:
    found = value.item()
    return repr(found) if isinstance(found, float) else str(int(found))


def _value(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return value
    if int(value) != value:
        raise FatuneError(f"parameter {name} has {value}; whole numbers and words are known", USAGE)
    return int(value)


def _free(name: str, call: Call, taken: List[Dict[str, Any]]) -> str:
    """Returns a tensor's name that no macro and no other tensor has."""
    used = {*call.parameters, "kernel_tuner", *(each["name"] for each in taken)}
    return f"{name}_argument" if name in used else name
