"""yaml_text.py: Turns YAML into values, without tags, aliases or more of anything than the limits.
"""
from __future__ import annotations

import math
import re
from typing import Any, List, NoReturn

from ..errors import ENVIRONMENT, FatuneError
from ..documents import fail

LARGEST_YAML = 256 << 10
"""Bytes; chosen, as are the other limits: a task of KernelBot has 7 KB, 3 levels and 200 values."""
_DEEPEST, _MOST_VALUES, _MOST_KEYS = 16, 20_000, 256
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")


def _plain(text: str) -> Any:
    """The value of a scalar without quotes."""
    if text in ("true", "True", "false", "False"):
        return text in ("true", "True")
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        number = float(text) if "_" not in text else math.nan
    except ValueError:
        return text
    return number if math.isfinite(number) else text


class _Builder:
    """Builds the value event by event, so that nothing is built of what is refused."""

    def __init__(self, where: str) -> None:
        self.where, self.values, self.documents = where, 0, 0
        self.root: Any = None
        self.open: List[Any] = []  # collections, and the key that waits for its value beside each
        self.keys: List[Any] = []

    def refuse(self, event: Any, what: str) -> NoReturn:
        mark = event.start_mark
        fail(self.where,
             f"not valid YAML at line {mark.line + 1}, column {mark.column + 1}: {what}")

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                self.refuse(event, "another document begins")
        elif kind == "AliasEvent":
            self.refuse(event, "aliases are not read")
        elif kind in ("SequenceEndEvent", "MappingEndEvent"):
            self.keys.pop()
            self.place(event, self.open.pop())
        elif kind in ("SequenceStartEvent", "MappingStartEvent", "ScalarEvent"):
            self.begin(event, kind)

    def begin(self, event: Any, kind: str) -> None:
        if event.tag not in (None, "!"):
            self.refuse(event, "tags are not read")
        wants_key = self.open and isinstance(self.open[-1], dict) and self.keys[-1] is None
        if wants_key:
            return self.key(event, kind)
        self.values += 1
        if self.values > _MOST_VALUES:
            self.refuse(event, f"it holds more than {_MOST_VALUES} values")
        if kind == "ScalarEvent":
            return self.place(event, _plain(event.value) if event.implicit[0] else event.value)
        if len(self.open) >= _DEEPEST:
            self.refuse(event, f"it is nested deeper than {_DEEPEST} levels")
        self.open.append({} if kind == "MappingStartEvent" else [])
        self.keys.append(None)

    def key(self, event: Any, kind: str) -> None:
        if kind != "ScalarEvent":
            self.refuse(event, "a key is no text")
        if len(self.open[-1]) >= _MOST_KEYS:
            self.refuse(event, f"a mapping has more than {_MOST_KEYS} keys")
        if event.value in self.open[-1]:
            self.refuse(event, "a mapping has a key twice")
        self.keys[-1] = event.value

    def place(self, event: Any, value: Any) -> None:
        if not self.open:
            self.root = value
        elif isinstance(self.open[-1], dict):
            self.open[-1][self.keys[-1]] = value
            self.keys[-1] = None
        else:
            self.open[-1].append(value)


def parse_yaml(text: str, where: str) -> Any:
    """The value of a text of one document, as JSON would have it."""
    try:
        import yaml
    except ImportError as error:
        raise FatuneError(f"{where}: PyYAML is needed to read it: python -I -m pip install pyyaml",
                          ENVIRONMENT) from error
    builder = _Builder(where)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        fail(where,
             f"not valid YAML at line {mark.line + 1}, column {mark.column + 1}: {error.problem}")
    except (yaml.YAMLError, RecursionError) as error:
        fail(where, f"not valid YAML: {' '.join(str(error).split())}")
    return builder.root
