"""declaring.py: Writes a call of Kernel Tuner as a folder that `fatune --kernel-dir` takes."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ..errors import USAGE, FatuneError
from .arrays import Store, in_memory_order
from .calls import AXES, Call, listed, restrictions_of
from .macros import copy_headers, macros_of, settled
from .rules import grid_expression
from .signature import Parameter, parameters_of

_TYPES = {"float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool",
          **{f"{sign}{bits}": f"{sign[0]}{bits}" for sign in ("int", "uint")
             for bits in (8, 16, 32, 64)}}
_RELATIVE = 1e-5  # numpy.allclose's, which Kernel Tuner checks by

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


class Declared(NamedTuple):
    """A call as a folder. `tensors`: of each argument the name of the output that it is; None for
    values and inputs."""

    call: Call
    folder: Path
    outputs: List[Optional[str]]

    @property
    def words(self) -> List[str]:
        """The words that name kernel and problem to commands of fatune."""
        return ["--kernel-dir", str(self.folder), "--size", "kernel_tuner=1"]


def declare(call: Call, folder: Path, store: Store) -> Declared:
    """Writes source, manifests and the arrays of a call. Raises FatuneError (2) for what cannot be
    said, with its name."""
    folder.mkdir(parents=True, exist_ok=True)
    options, folders = settled(call)
    copy_headers(call.source, folders, folder)
    known = parameters_of(call.kernel, call.source)
    if len(known) != len(call.arguments):
        raise FatuneError(f"{call.name} has {len(known)} parameters, but the script passes "
                          f"{len(call.arguments)} arguments", USAGE)
    writer = _Writer(folder, store)
    passed, tensors, answers, outputs = [], [], [], []
    for place, (parameter, value) in enumerate(zip(known, call.arguments)):
        outputs.append(None)
        if not _is_array(value):
            passed.append(f"{_type(value, parameter.name)} {_number(value)}")
            continue
        name = _free(parameter.name, call, tensors)
        answer = None if call.answer is None else call.answer[place]
        tensors.append(writer.tensor(name, parameter, value, answer, call.answer is not None))
        passed.append(name)
        if tensors[-1].get("output"):
            outputs[-1] = name
        if answer is not None:
            answers.append((name, writer.input(f"{name}_answer", answer)))
    for symbol, value in call.constants.items():
        tensors.append(writer.input(f"{symbol}_data", value))
    operation = _operation(call, [*tensors, *(each for _, each in answers)])
    source = _prefix(call) + call.source
    (folder / "kernel.cu").write_text(source, encoding="utf-8")
    manifest = _manifest(call, passed, source, options)
    if answers:
        _write_answer(operation, answers, folder)
        manifest["operation"] = operation["name"]
    else:
        manifest.update(role="reference", operation=operation)
    _write(folder / "kernel.json", manifest)
    return Declared(call, folder, outputs)


def _prefix(call: Call) -> str:
    """Returns the lines that Kernel Tuner, too, puts before the source: macros that are no
    parameters of the manifest."""
    words = set(re.findall(r"[A-Za-z_]\w*", call.source))
    lines = []
    if "__half" in words and "cuda_fp16" not in call.source:
        lines.append("#include <cuda_fp16.h>")
    if call.defines is None:
        blocks = {name: size for name, size in zip(call.block_names, _block(call))
                  if name in words and name not in call.space}
        lines += [f"#define {name} {value}" for name, value in {**call.fixed, **blocks}.items()]
    return "".join(f"{line}\n" for line in [*lines, "#line 1"]) if lines else ""


def _manifest(call: Call, passed: List[str], source: str, options: List[str]) -> Dict[str, Any]:
    default = call.default
    if default is None:
        raise FatuneError(f"{call.name}: the restrictions leave none of the first million configs",
                          USAGE)
    stage: Dict[str, Any] = {"entry": call.kernel, "grid": _grid(call), "block": _block(call),
                             "arguments": passed}
    if call.shared is not None:
        stage["shared_bytes"] = call.expression(call.shared.get("size", 0), "smem_args")
    defines, texts = macros_of(call)
    macros = {} if defines is None else {"defines": defines}
    return {
        **macros, "compiler_options": [*options, *texts],
        "schema": "fatune.kernel/1", "name": call.name, "source": "kernel.cu",
        "parameters": [{"name": name, "values": [_value(each) for each in values],
                        "default": _value(default[name])}
                       for name, values in call.parameters.items()],
        "constraints": [{"require": rule} for rule in restrictions_of(call)],
        "needs_toolkit_headers": "#include <" in source,
        "constants": {symbol: f"{symbol}_data" for symbol in call.constants},
        "stages": [stage]}


def _block(call: Call) -> List[str]:
    return [name if name in call.parameters else str(call.fixed.get(name, 256 if axis == 0 else 1))
            for axis, name in enumerate(call.block_names)]


def _grid(call: Call) -> List[str]:
    grid = []
    for axis, divisors in enumerate(call.grid_div):
        if divisors is None:
            name = call.block_names[axis]
            divisors = [name] if name in call.parameters else []
        rules = [call.expression(each, f"grid_div_{AXES[axis]}") for each in listed(divisors)]
        grid.append(grid_expression(call.expression(_size(call.problem_size, axis), "problem_size"),
                                    rules))
    return grid


def _size(size: Any, axis: int) -> Any:
    """Returns the rule of one axis; 1 for an axis that the problem lacks."""
    def along(sizes: Any) -> Any:
        return (listed(sizes) + [1, 1, 1])[axis]
    return (lambda config: along(size(config))) if callable(size) else along(size)


def _operation(call: Call, tensors: List[Dict[str, Any]]) -> Dict[str, Any]:
    operation: Dict[str, Any] = {
        "name": f"{call.name}_of_a_script", "sizes": [{"name": "kernel_tuner"}],
        "typical": [{"kernel_tuner": 1}], "tensors": tensors}
    if any(each.get("output") and each["type"][0] in "fb" and each["type"] != "bool"
           for each in tensors):
        operation["tolerance"] = {"absolute": call.atol if call.atol else 1e-6,
                                  "relative": _RELATIVE}
    return operation


class _Writer:
    """Writes arrays to a folder, and declares them."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder, self.store = folder, store

    def tensor(self, name: str, parameter: Parameter, value: Any, answer: Any,
               has_answers: bool) -> Dict[str, Any]:
        """Declares an argument. Without answers every array that may be written is an output; else
        those with an answer are."""
        tensor = self.input(name, value)
        if answer is not None and getattr(answer, "size", None) != value.size:
            raise FatuneError(f"the answer of {parameter.name} has another number of elements",
                              USAGE)
        if answer is not None or parameter.written and not has_answers:
            tensor["output"] = True
        return tensor

    def input(self, name: str, value: Any) -> Dict[str, Any]:
        """Declares an array. Elements of float16 are passed as their bits, since references write
        float16 as float."""
        array = in_memory_order(value)
        if not array.size:
            raise FatuneError(f"{name} has no elements", USAGE)
        self.store.write(array, self.folder / f"{name}.bin")
        kind = "u16" if array.dtype == "float16" else _type(array, name)
        return {"name": name, "type": kind, "shape": [str(array.size)], "fill": "file",
                "file": f"{name}.bin"}


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


def _is_array(value: Any) -> bool:
    return bool(getattr(value, "shape", ()))


def _type(value: Any, name: str) -> str:
    kind = _TYPES.get(str(getattr(value, "dtype", type(value).__name__)))
    if kind is None:
        raise FatuneError(f"{name} is of {getattr(value, 'dtype', type(value).__name__)}; numpy's "
                          "integers, bool and floats are known", USAGE)
    return kind


def _number(value: Any) -> str:
    found = value.item()
    return repr(found) if isinstance(found, float) else str(int(found))


def _value(value: Any) -> Any:
    return value if isinstance(value, str) else int(value)


def _free(name: str, call: Call, taken: List[Dict[str, Any]]) -> str:
    """Returns a tensor's name that no macro and no other tensor has."""
    used = {*call.space, "kernel_tuner", *(each["name"] for each in taken)}
    return f"{name}_argument" if name in used else name
