"""remembering.py: Remembers what was found of a function until something that the function reads has changed."""
from __future__ import annotations

import dis
import math
import operator
import weakref
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

_MOST_REMEMBERED = 1024  # chosen
_DEEPEST = 8  # chosen: functions that hold functions
_PLAIN = (int, float, bool, str, type(None))
_ABSENT = object()
_globals_read: Dict[CodeType, Tuple[str, ...]] = {}


class _Changing(Exception):
    """A function holds an object that may change unseen."""


def stamp(tensor: torch.Tensor) -> Tuple[Any, ...]:
    """Returns what differs when a tensor was written to, has other memory or needs gradients.
    Tensors of inference mode do not tell that they were written to."""
    return (0 if tensor.is_inference() else tensor._version, tensor.data_ptr(), tensor.shape,
            tensor.stride(), tensor.requires_grad and torch.is_grad_enabled())


class Held:
    """What a function reads: its closure, its defaults, the globals that it names, and the same of
    functions among them. `key` is equal for functions that act alike, whatever the values of
    `tensors` are."""

    def __init__(self, function: FunctionType) -> None:
        self.tensors: List[torch.Tensor] = []
        self._stamps: List[Tuple[Any, ...]] = []
        self._functions: List[Tuple[FunctionType, Tuple[Any, ...]]] = []
        self._cells: List[Tuple[Any, Any]] = []  # of the functions below, with what is in them
        self._names: List[Tuple[Dict[str, Any], str, Any]] = []
        self._own, self._values = _parts(function), _values(function)
        self.key = self._key(function, 0)

    def are_values_known(self) -> bool:
        """Whether every write to a tensor is noticed."""
        return not any(each.is_inference() for each in self.tensors)

    def is_as_before(self, function: FunctionType) -> bool:
        """Whether a function of the same code, or the same function, reads the same objects, and
        none of them has changed."""
        code, names, defaults, named = self._own
        if (function.__code__ is not code or function.__globals__ is not names
                or function.__defaults__ is not defaults or function.__kwdefaults__ is not named):
            return False
        try:
            for cell, value in zip(function.__closure__ or (), self._values):
                if cell.cell_contents is not value:
                    return False
            for cell, value in self._cells:
                if cell.cell_contents is not value:
                    return False
        except ValueError:  # a variable lost its value
            return False
        for names, name, value in self._names:
            if names.get(name, _ABSENT) is not value:
                return False
        for each, parts in self._functions:
            if not all(map(operator.is_, _parts(each), parts)):
                return False
        for tensor, before in zip(self.tensors, self._stamps):
            if stamp(tensor) != before:
                return False
        return True

    def _key(self, value: Any, depth: int) -> Any:
        """Raises _Changing where it is unknown what acts alike."""
        kind = type(value)
        if kind in _PLAIN:
            return kind, value
        if kind is FunctionType and depth < _DEEPEST:
            return value.__code__, tuple((name, self._key(each, depth + 1))
                                         for name, each in self._read_by(value, depth))
        if kind is tuple and depth < _DEEPEST:
            return tuple(self._key(each, depth + 1) for each in value)
        if kind in (torch.Tensor, torch.nn.Parameter):
            return self._key_of_tensor(value)
        if value is torch or value is math:
            return value.__name__
        if kind is BuiltinFunctionType and isinstance(value.__self__, (ModuleType, type(None))):
            return value
        if kind in (torch.dtype, torch.device) or value in (int, float, bool):
            return value
        raise _Changing

    def _key_of_tensor(self, tensor: torch.Tensor) -> Any:
        place = next((i for i, each in enumerate(self.tensors) if each is tensor), None)
        if place is None:
            place = len(self.tensors)
            try:
                self._stamps.append(stamp(tensor))
            except RuntimeError:  # it has no strides or no memory
                raise _Changing from None
            self.tensors.append(tensor)
        return place, tensor.dtype, tensor.shape, tensor.stride(), tensor.device

    def _read_by(self, function: FunctionType, depth: int) -> List[Tuple[Any, Any]]:
        """Returns what a function reads, with a name for each."""
        code, names, named = function.__code__, function.__globals__, function.__kwdefaults__ or {}
        if code not in _globals_read:
            _globals_read[code] = tuple(dict.fromkeys(_names_in(code)))
        if depth:
            self._functions.append((function, _parts(function)))
            self._cells += [(cell, cell.cell_contents) for cell in function.__closure__ or ()]
        self._names += [(names, name, names.get(name, _ABSENT)) for name in _globals_read[code]]
        self._names += [(named, name, value) for name, value in named.items()]
        held: List[Tuple[Any, Any]] = [*enumerate(_values(function))]
        held += [(name, names[name]) for name in _globals_read[code] if name in names]
        return held + [*enumerate(function.__defaults__ or ()), *named.items()]


def _parts(function: FunctionType) -> Tuple[Any, ...]:
    return (function.__code__, function.__globals__, function.__defaults__, function.__kwdefaults__)


def _values(function: FunctionType) -> Tuple[Any, ...]:
    return tuple([cell.cell_contents for cell in function.__closure__ or ()])


def _names_in(code: CodeType) -> List[str]:
    """Returns the names of globals that the code and the code of functions inside it load."""
    own = [each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"]
    return own + [name for each in code.co_consts if isinstance(each, CodeType)
                  for name in _names_in(each)]


class Memory:
    """What was found of functions in one role. A function with tensors is remembered as long as it
    lives, since what was found may hold a tensor."""

    def __init__(self) -> None:
        self._by_function: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()
        self._by_code: Dict[CodeType, Any] = {}  # the latest function of each code
        self.forms: Dict[Any, Any] = {}  # by the key of Held

    def known(self, function: FunctionType, lengths: Tuple[int, int]) -> Any:
        """Returns what was kept of a function or of one that reads the same objects, else None."""
        for kept in (self._by_function.get(function), self._by_code.get(function.__code__)):
            if kept is not None:
                held, its_lengths, found = kept
                if (not held.tensors or its_lengths == lengths) and held.is_as_before(function):
                    return found
        return None

    def keep(self, function: FunctionType, held: Held, lengths: Tuple[int, int], found: Any) -> None:
        """Keeps what was found of a function for these lengths."""
        self._by_function[function] = held, lengths, found
        if not held.tensors:
            remember(self._by_code, held.key[0], (held, lengths, found))


def remember(known: Dict[Any, Any], key: Any, found: Any) -> None:
    """Adds to a dictionary that is emptied when it is full."""
    if len(known) >= _MOST_REMEMBERED:
        known.clear()
    known[key] = found


def held_by(function: Callable[..., Any]) -> Optional[Held]:
    """Returns what a function reads; None where that may change unseen."""
    if type(function) is not FunctionType:
        return None
    try:
        return Held(function)
    except (_Changing, ValueError):  # the latter of a variable without a value
        return None
