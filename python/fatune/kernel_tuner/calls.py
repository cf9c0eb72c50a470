"""calls.py: Holds a call of Kernel Tuner, and splits it where a config changes more than numbers."""
from __future__ import annotations

import itertools
import math
import os
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..errors import USAGE, FatuneError
from .rules import holds, text_of
from .signature import function_of
from .tables import number_of, tabulated

AXES = ("x", "y", "z")
BLOCK_NAMES = tuple(f"block_size_{axis}" for axis in AXES)
_MOST_THREADS = 1024
_MOST_TRIED = 1_000_000  # configs that are looked through for a default
_MOST_PARTS = 64  # sweeps of one call; chosen


class Call(NamedTuple):
    """The arguments of tune_kernel or run_kernel that say what is run."""

    kernel: str
    source: Any  # a text, a file, or a function of a config that returns one
    problem_size: Any
    arguments: Sequence[Any]
    parameters: Mapping[str, Sequence[Any]]
    grid_div: Tuple[Any, Any, Any] = (None, None, None)
    restrictions: Any = None
    answer: Optional[Sequence[Any]] = None
    atol: Optional[float] = None
    constants: Mapping[str, Any] = {}
    shared: Any = None
    block_names: Sequence[str] = BLOCK_NAMES
    options: Sequence[str] = ()  # of the compiler, as the script has them
    defines: Optional[Mapping[str, Any]] = None  # macros in place of those of parameters
    folders: Sequence[Path] = ()  # searched for headers
    fixed: Mapping[str, Any] = {}  # parameters with one value, which are macros of the source
    default: Optional[Dict[str, Any]] = None  # of a part: its first valid config

    @property
    def name(self) -> str:
        """The name of the kernel's manifest."""
        return re.sub(r"\W+", "_", function_of(self.kernel)).lower()

    @property
    def space(self) -> Dict[str, Sequence[Any]]:
        """The values of each parameter, fixed ones included."""
        return {**self.parameters, **{name: [value] for name, value in self.fixed.items()}}

    def expression(self, rule: Any, what: str) -> str:
        """Returns a rule of this call as an expression of its manifest."""
        return text_of(rule, what, self.space, self.parameters)


def block_names_of(given: Optional[Sequence[str]], parameters: Mapping[str, Any]) -> List[str]:
    """Returns the parameters that are a block's sizes: those given, else block_size_x and so on in
    any case of letters."""
    found = {name.lower(): name for name in parameters}
    usual = [found.get(name, name) for name in BLOCK_NAMES]
    return [*(given or ()), *usual[len(given or ()):]]


def parts_of(call: Call) -> List[Call]:
    """Splits a call into calls whose parameters are whole numbers or words, and whose source and
    arguments are the same for all configs. Raises FatuneError (2) for more than 64."""
    names = [name for name, values in call.parameters.items()
             if not all(isinstance(value, str) for value in values)
             and not all(_is_whole(value) for value in values)]
    for what, function in _chosen(call):
        read = tabulated(function, what, call.parameters).read
        names += [name for name in read if name not in names]
    many = math.prod(len(call.parameters[name]) for name in names)
    if many > _MOST_PARTS:
        raise FatuneError(f"{', '.join(names)}: fatune sweeps once for each value that is a "
                          f"fraction, or that source or arguments depend on; that are {many} "
                          f"sweeps, and {_MOST_PARTS} are the most", USAGE)
    parts = []
    for values in itertools.product(*(call.parameters[name] for name in names)):
        part = _part(call, dict(zip(names, values)))
        default = _default_of(part)
        if many == 1 or default is not None:
            parts.append(part._replace(default=default))
    return parts


def _default_of(call: Call) -> Optional[Dict[str, Any]]:
    """Returns the first config that the restrictions and a block's threads allow; None: there is no
    such config among the first million."""
    rules = restrictions_of(call)
    for values in itertools.islice(itertools.product(*call.parameters.values()), _MOST_TRIED):
        config = dict(zip(call.parameters, values))
        threads = math.prod(int(config.get(name, 1)) for name in call.block_names)
        numbers = {name: number_of(value, call.parameters[name]) for name, value in config.items()}
        if threads <= _MOST_THREADS and all(holds(rule, numbers) for rule in rules):
            return config
    return None


def restrictions_of(call: Call) -> List[str]:
    """Returns the expressions of the restrictions."""
    return [call.expression(rule, f"the restriction {rule}" if isinstance(rule, str) else
                            "a restriction") for rule in listed(call.restrictions)]


def listed(rules: Any) -> List[Any]:
    if rules is None:
        return []
    return list(rules) if isinstance(rules, (list, tuple)) else [rules]


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") or isinstance(value, float) and value.is_integer()


def _chosen(call: Call) -> Iterator[Tuple[str, Any]]:
    """Names what a config chooses, beside numbers, with the function of a config that does it."""
    if callable(call.source):
        yield "the kernel's source", call.source
    for place, argument in enumerate(call.arguments):
        if hasattr(argument, "select_for_configuration"):
            yield f"argument {place}", argument.select_for_configuration


def _part(call: Call, fixed: Dict[str, Any]) -> Call:
    config = {name: values[0] for name, values in call.parameters.items()}
    config.update(fixed)
    arguments = [each.select_for_configuration(config)
                 if hasattr(each, "select_for_configuration") else each for each in call.arguments]
    kernel = call.kernel
    for name, value in fixed.items():
        kernel = re.sub(rf"\b{re.escape(name)}\b", str(value), kernel)
    source = call.source(dict(config)) if callable(call.source) else call.source
    parameters = {name: values for name, values in call.parameters.items() if name not in fixed}
    return call._replace(kernel=kernel, source=_text(source), arguments=arguments,
                         parameters=parameters, fixed=fixed)


def _text(source: Any) -> str:
    """Returns a kernel's text, of a file or as it stands."""
    if not isinstance(source, (str, os.PathLike)):
        raise FatuneError("the kernel's source is no text, file or function that returns one",
                          USAGE)
    text = os.fspath(source)
    if "\n" not in text and "{" not in text and Path(text).is_file():
        return Path(text).read_text(encoding="utf-8")
    return text
