"""tasks.py: Reads problem files of KernelBench and tasks of KernelBot as suites."""
from __future__ import annotations

import ast
import dataclasses
import os
from pathlib import Path
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from ..errors import USAGE, FatuneError
from .documents import Fields, fail, note, read_text
from .problems import Problem, Suite, dtype_of_torch
from .python_reader import parse_python
from .references import attention_of, find_function, made_by
from .torch_values import Tensor
from .yaml_text import LARGEST_YAML, parse_yaml

_MOST_BENCHMARKS = 500  # each is read by itself; chosen
_REFERENCE = "reference.py"


def checked(problem: Problem, where: str) -> Problem:
    """The problem, if kernels can have it."""
    fault = problem.fault()
    return fail(where, fault) if fault else problem


# ---- KernelBench


def parse_kernelbench(text: str, dtype: Optional[str], where: str) -> Suite:
    """The suite of a file with a class Model, whose forward() is attention, and get_inputs().

    KernelBench casts a problem to the precision that it is run in: `dtype` ("f16"), None where the
    file names a type that kernels have. The problem's name is the stem of `where`.
    """
    def lacks(what: str) -> NoReturn:
        fail(where, f"has no {what}: it is no problem of KernelBench")

    module = parse_python(text, where)
    model = next(
        (each for each in module if isinstance(each, ast.ClassDef) and each.name == "Model"),
        None) or lacks("class Model")
    forward = find_function(model.body, "forward")
    if forward is None or not forward.args.args:
        lacks("Model.forward()")
    inputs = find_function(module, "get_inputs") or lacks("get_inputs()")
    _check_without_weights(model, where)
    tensors = made_by(inputs, {}, module, where)
    if not tensors:
        lacks("tensors in get_inputs()")
    if not all(isinstance(each, Tensor) for each in tensors):
        fail(where, "get_inputs() returns other things than tensors")
    del forward.args.args[0]  # self
    problem = attention_of(forward, tensors, module, where)
    problem = dataclasses.replace(problem, dtype=dtype or _told_dtype(tensors, where))
    suite = Suite(Path(where).stem, where)
    suite.add(suite.name, checked(problem, where))
    return suite


def _check_without_weights(model: ast.ClassDef, where: str) -> None:
    """A constructor that does more than call its base makes weights or keeps settings."""
    made = find_function(model.body, "__init__")
    for each in made.body if made else ():
        at: Any = each.value if isinstance(each, ast.Expr) else None
        while isinstance(at, (ast.Call, ast.Attribute)):
            at = at.func if isinstance(at, ast.Call) else at.value
        calls_base = isinstance(at, ast.Name) and at.id == "super"
        if not (calls_base or isinstance(at, ast.Constant) or isinstance(each, ast.Pass)):
            fail(where, f"line {each.lineno}: Model keeps weights or settings: more than "
                        "attention is computed")


def _told_dtype(tensors: List[Tensor], where: str) -> str:
    told = {each.dtype for each in tensors}
    dtype = dtype_of_torch(tensors[0].dtype) if len(told) == 1 else None
    if dtype in ("f16", "bf16"):
        return dtype
    types = told.pop() if len(told) == 1 else "of several types"
    raise FatuneError(
        f"{where}: its tensors are {types}, which no kernel reads; say --dtype f16 or "
        "bf16, as KernelBench casts them to its precision", USAGE)


# ---- KernelBot


def parse_kernelbot(text: str, where: str) -> Tuple[str, List[Dict[str, int]]]:
    """The reference's path from the task's folder, and the arguments of each benchmark by name."""
    fields = Fields(parse_yaml(text, where), where)
    language = fields.get("lang", str)
    if language != "py":
        fields.fail("lang", f"is '{language}': only py is read")
    files = {each.get("name", str): each for each in fields.objects("files")}
    if _REFERENCE not in files:
        fields.fail("files", f"names no {_REFERENCE}")
    benchmarks = fields.objects("benchmarks")
    if not benchmarks:
        fields.fail("benchmarks", "must hold at least one")
    if len(benchmarks) > _MOST_BENCHMARKS:
        fields.fail("benchmarks", f"holds more than {_MOST_BENCHMARKS}")
    return files[_REFERENCE].get("source", str), [
        {name: each.get(name, int) for name in each.value} for each in benchmarks]


def suite_of_task(benchmarks: List[Dict[str, int]], reference: str, where: str) -> Suite:
    """Problems "benchmark-1" and so on; one that differs from another in its seed alone is left
    out."""
    module = [each for each in parse_python(reference, f"{where}: {_REFERENCE}")
              if not (isinstance(each, ast.Assign)  # fatune's own limits stand for it
                      and ast.unparse(each.targets[0]) == "check_implementation")]
    suite = Suite(Path(os.path.abspath(where)).parent.name, where)
    for number, sizes in enumerate(benchmarks):
        place = f"{where}: field 'benchmarks[{number}]'"
        problem = _benchmark(sizes, module, f"{place}: {_REFERENCE}")
        same = suite.same_as(problem)
        if same:
            note(f"{place} is the same problem as {same}")
        else:
            suite.add(f"benchmark-{number + 1}", problem)
    return suite


def _benchmark(sizes: Dict[str, int], module: List[ast.stmt], where: str) -> Problem:
    found = {}
    for name in ("generate_input", "ref_kernel"):
        found[name] = find_function(module, name) or fail(
            where, f"has no {name}(): it is no reference of KernelBot")
    generate = found["generate_input"]
    for name in sizes:
        if name not in [each.arg for each in (*generate.args.args, *generate.args.kwonlyargs)]:
            fail(where, f"generate_input() has no parameter '{name}'")
    inputs = made_by(generate, sizes, module, where)
    tensors = [each for each in inputs if isinstance(each, Tensor)]
    if not tensors:
        fail(where, "generate_input() makes no tensors")
    first = tensors[0]
    for each in tensors:
        if each.dtype != first.dtype:
            fail(where, f"{each.origin} is {each.dtype}, {first.origin} is {first.dtype}: "
                        "kernels have one element type")
    dtype = dtype_of_torch(first.dtype)
    if dtype not in ("f16", "bf16"):
        fail(where, f"its tensors are {first.dtype}, not float16 or bfloat16")
    problem = attention_of(found["ref_kernel"], [inputs], module, where)
    return checked(dataclasses.replace(problem, dtype=dtype), where)


def load_kernelbot(task: Path) -> Suite:
    """The suite of task.yml and the reference in its folder or below it."""
    source, benchmarks = parse_kernelbot(read_text(task, LARGEST_YAML), str(task))
    folder = task.absolute().parent.resolve()
    reference = (folder / source).resolve()  # a link out of the folder is refused, too
    if folder not in reference.parents:
        fail(str(task), f"field 'files': {_REFERENCE} is '{source}', which is not in this folder")
    return suite_of_task(benchmarks, read_text(reference), str(task))
