"""trace_sets.py: Reads data sets of FlashInfer-Trace and SOL-ExecBench as suites."""
from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from ..errors import FatuneError
from .documents import Fields, fail, note, parse_json, read_text
from .problems import Problem, Suite, dtype_of_torch
from .python_reader import parse_python
from .references import attention_of, find_function, whole_value
from .tasks import checked
from .torch_values import tensor

_MOST_FILES = 20_000  # of a folder; chosen
_MOST_WORKLOADS = 2_000  # of a definition, each read by itself; chosen
_LARGEST_DEFINITION = 1 << 20  # bytes; chosen
_SHORT_UUID = 8  # characters that tell workloads apart in names


class _Tensor(NamedTuple):
    shape: List[str]  # names of axes; empty for a number
    dtype: str


class Workload(NamedTuple):
    """Values for a definition's variable axes and for inputs that are numbers."""

    uuid: str
    definition: str
    axes: Dict[str, int]
    numbers: Dict[str, float]


class Definition:
    """An operation: tensors over named axes and a reference in PyTorch."""

    def __init__(self, text: str, where: str) -> None:
        fields = Fields(parse_json(text, where), where)
        self.where, self.name = where, fields.get("name", str)
        if not self.name:
            fields.fail("name", "must not be empty")
        self.constants: Dict[str, int] = {}
        self.expressions: Dict[str, str] = {}
        self.variables: List[str] = []
        axes = fields.object("axes")
        for name in axes.value:
            axis = axes.object(name)
            kind = axis.get("type", str)
            if kind == "const":
                self.constants[name] = axis.get("value", int)
            elif kind == "expr":
                self.expressions[name] = axis.get("expression", str)
            elif kind == "var":
                self.variables.append(name)
            else:
                axis.fail("type", f"is '{kind}', not const, var or expr")
        self.inputs, self.outputs = _tensors(fields, "inputs"), _tensors(fields, "outputs")
        self.reference = fields.get("reference", str)

    def dtype(self) -> str:
        """The element type; there must be three tensors in and one out, all of this type."""
        inputs = {name: each for name, each in self.inputs.items() if each.shape}
        if len(inputs) != 3 or len(self.outputs) != 1:
            fail(self.where, f"is of the tensors {', '.join(inputs)} to {', '.join(self.outputs)}: "
                             "attention here has three tensors in and one out")
        first, told = next((name, each.dtype) for name, each in inputs.items())
        for name, each in (*inputs.items(), *self.outputs.items()):
            if each.dtype != told:
                fail(self.where, f"'{name}' is {each.dtype}, '{first}' is {told}: kernels have one "
                                 "element type")
        dtype = dtype_of_torch(told)
        if dtype is None:
            fail(self.where, f"'{told}' is none of the element types float16 and bfloat16")
        if dtype not in ("f16", "bf16"):
            fail(self.where, f"is of {told}: fp8 attention here has factors beside q, k and v")
        return dtype

    def axes(self, workload: Workload) -> Dict[str, int]:
        """Values of all axes: constants, what the workload says, and what follows from them."""
        values = dict(self.constants)
        for name in self.variables:
            if name not in workload.axes:
                fail(self.where, f"axis '{name}' has no value")
            values[name] = workload.axes[name]
        for name, expression in self.expressions.items():
            values[name] = whole_value(expression, values, f"{self.where}: axis '{name}'")
        return values

    def shape(self, name: str, each: _Tensor, axes: Dict[str, int]) -> Tuple[int, ...]:
        """The sizes of an input or an output."""
        for axis in each.shape:
            if axis not in axes:
                fail(self.where, f"'{name}' has the axis '{axis}', which is not declared")
        return tuple(axes[axis] for axis in each.shape)

    def problem(self, workload: Workload) -> Problem:
        """The attention that the definition is with the workload's sizes."""
        dtype, axes = self.dtype(), self.axes(workload)
        arguments = [
            tensor(self.shape(name, each, axes), each.dtype, name)
            if each.shape else workload.numbers.get(name, math.nan)
            for name, each in self.inputs.items()]
        place = f"{self.where}: field 'reference'"
        module = parse_python(self.reference, place)
        run = find_function(module, "run") or fail(place, "has no function run()")
        problem = checked(
            dataclasses.replace(attention_of(run, arguments, module, place), dtype=dtype),
            self.where)
        (name, output), = self.outputs.items()
        declared, given = self.shape(name, output, axes), _output_shape(problem)
        if given and declared != given:
            told, found = (", ".join(map(str, shape)) for shape in (declared, given))
            fail(self.where, f"'{name}' is declared as ({told}), but its reference gives ({found})")
        return problem


def _tensors(fields: Fields, key: str) -> Dict[str, _Tensor]:
    group = fields.object(key)
    made = {}
    for name in group.value:
        each = group.object(name)
        shape = [] if each.value.get("shape", 0) is None else each.get("shape", list)
        if not all(isinstance(axis, str) for axis in shape):
            each.fail("shape", "must list names of axes")
        made[name] = _Tensor(shape, each.get("dtype", str))
    return made


def _output_shape(problem: Problem) -> Tuple[int, ...]:
    """Sizes of the output as it lies; empty where it has strides of its own."""
    batch, heads, rows, columns = problem.sizes("out")
    out = next(
        (part.partition("=")[2] for part in problem.layout.split(",") if part.startswith("out=")),
        problem.layout.split(",")[0])
    if ":" in out:
        return ()
    return (batch, rows, heads, columns) if out == "bshd" else (batch, heads, rows, columns)


def parse_workloads(text: str, where: str) -> List[Workload]:
    """Lines of workloads, each alone or in a Trace around it."""
    made = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"line {number} of {where}"
        fields = Fields(parse_json(line, place), place)
        workload = fields.object("workload") if "workload" in fields.value else fields
        axes, numbers = workload.object("axes"), {}
        if "inputs" in workload.value:
            inputs = workload.object("inputs")
            for name in inputs.value:
                each = inputs.object(name)
                value = each.value.get("value")
                if each.get("type", str) == "scalar" and isinstance(value, (int, float)):
                    numbers[name] = float(value)
        made.append(Workload(workload.get("uuid", str), fields.get("definition", str, ""),
                             {name: axes.get(name, int) for name in axes.value}, numbers))
    return made


def _files_below(folder: Path, wanted: Callable[[str], bool]) -> List[Path]:
    """Files below the folder in the order of their names; links are not followed."""
    found, seen = [], 0
    for place, folders, files in os.walk(folder):
        seen += len(folders) + len(files)
        if seen > _MOST_FILES:
            fail(str(folder), f"holds more than {_MOST_FILES} files")
        found += [Path(place, name) for name in files if wanted(name)]
    return sorted(found)


def _definition(path: Path) -> Definition:
    return Definition(read_text(path, _LARGEST_DEFINITION), str(path))


Loaded = List[Tuple[Definition, List[Workload]]]


def _load(folder: Path) -> Loaded:
    """Reads definitions/ and workloads/, or each definition.json and workload.jsonl."""
    if (folder / "definitions").exists():
        loaded: Loaded = [(_definition(path), []) for path in
                          _files_below(folder / "definitions", lambda name: name.endswith(".json"))]
        places = {definition.name: lines for definition, lines in reversed(loaded)}
        for path in _files_below(folder / "workloads", lambda name: name.endswith(".jsonl")):
            for each in parse_workloads(read_text(path), str(path)):
                places.get(each.definition, []).append(each)
        return loaded
    loaded = []
    for path in _files_below(folder, lambda name: name == "definition.json"):
        beside = path.parent / "workload.jsonl"
        lines = parse_workloads(read_text(beside), str(beside)) if beside.exists() else []
        loaded.append((_definition(path), lines))
    return loaded


def load_trace_set(folder: Path) -> Suite:
    """Reads the problems of a folder. stderr says why a definition is left out."""
    loaded = _load(folder)
    if not loaded:
        fail(str(folder), "holds no definitions/*.json (FlashInfer-Trace), no definition.json "
                          "(SOL-ExecBench) and no task.yml (KernelBot)")
    return suite_of(loaded, Suite(folder.resolve().name, str(folder)))


def load_definition(path: Path) -> Suite:
    """The problem of a definition alone, whose axes are all constant or computed."""
    definition = _definition(path)
    return suite_of([(definition, [])], Suite(definition.name, str(path)))


def suite_of(loaded: Loaded, suite: Suite) -> Suite:
    """Adds what is attention to the suite; none at all is an error."""
    reasons = []
    for definition, workloads in loaded:
        try:
            _add(definition, workloads, suite)
        except FatuneError as error:
            reasons.append(str(error))
            if len(loaded) > 1:
                note(f"left out: {error}")
    if suite.problems:
        return suite
    where, _, reason = reasons[0].partition(": ")
    return fail(where, reason if len(loaded) == 1 else
                f"{reason}; none of the other {len(loaded) - 1} definitions is attention either")


def _add(definition: Definition, workloads: List[Workload], suite: Suite) -> None:
    definition.dtype()
    if not workloads:
        if definition.variables:
            fail(definition.where,
                 "has variable axes, but no workloads: name the folder that holds both")
        workloads = [Workload("", "", {}, {})]
    if len(workloads) > _MOST_WORKLOADS:
        fail(definition.where,
             f"has {len(workloads)} workloads, but at most {_MOST_WORKLOADS} are read")
    for workload in workloads:
        problem = definition.problem(workload)
        same = suite.same_as(problem)
        if same:
            note(f"{definition.where}: workload {workload.uuid} is the same problem as {same}")
        else:
            suite.add(_name(definition.name, workload, len(workloads) > 1, suite), problem)


def _name(base: str, workload: Workload, several: bool, suite: Suite) -> str:
    """The definition's name with as much of the uuid as makes it the only one."""
    names = (f"{base}-{workload.uuid[:_SHORT_UUID]}" if several else base,
             f"{base}-{workload.uuid}", f"{base}-{workload.uuid}-{len(suite.problems) + 1}")
    return next((name for name in names if name not in suite.problems), names[-1])
