"""documents.py: Reads files of limited size and checks the fields of JSON documents by name."""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from ..errors import FILES, FatuneError

LARGEST_FILE = 16 << 20
"""Bytes of a file, unless its reader names another limit."""
_KINDS = {str: "text", dict: "an object", list: "a list", int: "a whole number"}
_LARGEST_NUMBER = 2**63 - 1


def fail(where: str, what: str) -> NoReturn:
    """Raises FatuneError (4): the input at `where` cannot be used."""
    raise FatuneError(f"{where}: {what}", FILES)


def note(text: str) -> None:
    """Tells the user something on stderr."""
    print(f"fatune: {text}", file=sys.stderr)


def read_text(path: Path, limit: int = LARGEST_FILE) -> str:
    """The text of a regular file of at most `limit` bytes in UTF-8."""
    if not path.is_file():
        fail(str(path), "there is no such file")
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            fail(str(path), f"holds more than {limit >> 10} KiB")
        return data.decode("utf-8-sig")
    except OSError as error:
        fail(str(path), f"cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        fail(str(path), "is not UTF-8 text")


def parse_json(text: str, where: str) -> Any:
    """The value of a JSON text; NaN, infinity and repeated keys are errors."""
    def members(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            raise ValueError("an object has a key twice")
        return made

    def constant(word: str) -> NoReturn:
        raise ValueError(f"{word} is not JSON")

    try:
        return json.loads(text, object_pairs_hook=members, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        fail(where, f"is not valid JSON: {error}")


class Fields:
    """Checked access to one object of a document; errors name the file and the field."""

    def __init__(self, value: Any, where: str, path: str = "") -> None:
        self.where, self.path = where, path
        if not isinstance(value, dict):
            fail(where, (f"field '{path}' " if path else "") + "must be an object")
        self.value: Dict[str, Any] = value

    def fail(self, key: str, what: str) -> NoReturn:
        """Raises FatuneError (4) about the field `key`."""
        fail(self.where, f"field '{self._path(key)}' {what}")

    def _path(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def get(self, key: str, kind: type, default: Optional[Any] = None) -> Any:
        """The value of a field, which must be of `kind`; without a default it must be there."""
        if key not in self.value:
            if default is not None:
                return default
            self.fail(key, "is missing")
        value = self.value[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            self.fail(key, f"must be {_KINDS[kind]}, but is {type(value).__name__}")
        if kind is int and abs(value) > _LARGEST_NUMBER:
            self.fail(key, "is too large a number")
        return value

    def object(self, key: str) -> "Fields":
        """The object in a field."""
        return Fields(self.get(key, dict), self.where, self._path(key))

    def objects(self, key: str) -> "List[Fields]":
        """The objects in a list; none where the field is missing."""
        return [Fields(each, self.where, f"{self._path(key)}[{number}]")
                for number, each in enumerate(self.get(key, list, []))]
