"""tables.py: Calls Python functions of a config for each config that they tell apart."""
from __future__ import annotations

import itertools
import math
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Set, Tuple

from ..errors import USAGE, FatuneError

_MOST_CALLS = 1_000_000  # of one function; chosen
_MOST_LISTED = 8_000  # combinations that an expression lists; chosen


class Table(NamedTuple):
    """The results of a function by the values of the parameters that it reads."""

    read: List[str]
    rows: Dict[Tuple[Any, ...], Any]


class _Config(Dict[str, Any]):
    """A config that notes which parameters are read."""

    def __init__(self, values: Mapping[str, Any], read: Set[str]) -> None:
        super().__init__(values)
        self._read = read

    def __getitem__(self, name: str) -> Any:
        self._read.add(name)
        return super().__getitem__(name)

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(name)
        return self[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def __iter__(self) -> Iterator[str]:
        self._read.update(super().keys())
        return super().__iter__()

    def keys(self) -> Any:
        self._read.update(super().keys())
        return super().keys()

    def values(self) -> Any:
        self._read.update(super().keys())
        return super().values()

    def items(self) -> Any:
        self._read.update(super().keys())
        return super().items()


def tabulated(function: Callable[[Any], Any], what: str,
              parameters: Mapping[str, Sequence[Any]]) -> Table:
    """Returns the results of a function of one config. It is called for each combination of the
    parameters that it reads; the others keep their first values. Raises FatuneError (2)."""
    read: Set[str] = set()
    while True:
        names = [name for name in parameters if name in read]
        calls = math.prod(len(parameters[name]) for name in names)
        if calls > _MOST_CALLS:
            raise FatuneError(f"{what} tells {calls} configs apart; {_MOST_CALLS} are the most",
                              USAGE)
        rows = {}
        for values in itertools.product(*(parameters[name] for name in names)):
            config = {name: values[0] for name, values in parameters.items()}
            rows[values] = _result(function, _Config({**config, **dict(zip(names, values))}, read),
                                   what)
            if len(read) > len(names):
                break
        else:
            return Table(names, rows)


def expression_of(table: Table, what: str, parameters: Mapping[str, Sequence[Any]]) -> str:
    """Returns an expression of parameters, all whole numbers, with the table's values.

    Raises FatuneError (2) where the table is too long for one, or its values are no whole
    numbers.
    """
    code, numbers = _code(table.read, parameters)
    places: Dict[Any, List[int]] = {}
    for values, result in table.rows.items():
        places.setdefault(_number(result, what), []).append(
            sum(number[value] for number, value in zip(numbers, values)))
    if len(places) == 1:
        return str(next(iter(places)))
    usual = max(places, key=lambda result: len(places[result]))
    listed = {result: found for result, found in places.items() if result != usual}
    if sum(len(found) for found in listed.values()) > _MOST_LISTED:
        raise FatuneError(f"{what} is a function that no expression says, and has more than "
                          f"{_MOST_LISTED} different cases", USAGE)
    if set(places) == {0, 1}:
        (found,) = listed.values()
        return f"{code} {'not in' if usual else 'in'} {_written(found)}"
    return " + ".join([str(usual), *(f"{result - usual} * ({code} in {_written(found)})"
                                     for result, found in listed.items())])


def _written(numbers: Sequence[int]) -> str:
    """Returns a tuple as Python and manifests write it."""
    return f"({', '.join(map(str, numbers))}{',' * (len(numbers) == 1)})"


def _code(read: Sequence[str],
          parameters: Mapping[str, Sequence[Any]]) -> Tuple[str, List[Dict[Any, int]]]:
    """Returns an expression that differs between combinations, and what each value adds to it."""
    terms, numbers, step = [], [], 1
    for name in read:
        values = parameters[name]
        if len(set(values)) == 1:
            numbers.append({values[0]: 0})
            continue
        terms.append(f"{name} * {step}" if step > 1 else name)
        places = {value: number_of(value, values) for value in values}
        numbers.append({value: place * step for value, place in places.items()})
        step *= max(places.values()) - min(places.values()) + 1
    return " + ".join(terms) or "0", numbers


def number_of(value: Any, values: Sequence[Any]) -> int:
    """Returns what a parameter's value is in an expression: of a word its place among the words."""
    return values.index(value) if isinstance(value, str) else int(value)


def _result(function: Callable[[Any], Any], config: _Config, what: str) -> Any:
    try:
        return function(config)
    except FatuneError:
        raise
    except Exception as error:
        raise FatuneError(f"{what} has no value: {type(error).__name__}: {error}",
                          USAGE) from error


def _number(value: Any, what: str) -> int:
    if isinstance(value, (str, bytes)) or int(value) != value:
        raise FatuneError(f"{what} gives {value!r}; a whole number is known", USAGE)
    return int(value)
