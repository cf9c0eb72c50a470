"""documents.py: Reads and writes files, and checks the fields of JSON documents by name."""
from __future__ import annotations

import html
import json
import os
import sys
from pathlib import Path
from typing import Any, Dict, Iterable, List, NoReturn, Optional, Sequence, Tuple

from .errors import FILES, FatuneError

LARGEST_FILE = 128 << 20
"""Bytes of a file, unless its reader names another limit."""
_KINDS = {str: "text", dict: "an object", list: "a list", int: "a whole number",
          float: "a number", bool: "true or false"}
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


def write_text(path: Path, text: str) -> Path:
    """Writes a file that the user named. Raises FatuneError (4) where it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(str(path), f"cannot be written: {error.strerror}")
    return path


def write_own(path: Path, text: str) -> Path:
    """Writes a file that fatune named, whole or not at all. A link of this name is replaced, since
    it could lead to any file. Raises as write_text()."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        without_link(beside).write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        fail(str(path), f"cannot be written: {error.strerror}")
    return path


def without_link(path: Path) -> Path:
    """Removes a link in the place of a file that fatune named, so that the program writes there."""
    try:
        if path.is_symlink():
            path.unlink()
    except OSError as error:
        fail(str(path), f"cannot be written: {error.strerror}")
    return path


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
        value = json.loads(text, object_pairs_hook=members, parse_constant=constant)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()  # fails for half of a pair
        return value
    except (ValueError, RecursionError) as error:
        fail(where, f"is not valid JSON: {error}")


def check(value: Any, form: Any, where: str, path: str = "") -> None:
    """Raises FatuneError (4) for a document that lacks a field of `form`. A dict there stands for
    an object, a list of one form for a list. A name with "?" may be absent or null."""
    kind = type(form) if isinstance(form, (dict, list)) else form
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or isinstance(value, bool) != (kind is bool):
        told = f"must be {_KINDS[kind]}, but is {type(value).__name__}"
        fail(where, f"field '{path}' {'is missing' if value is None else told}" if path else told)
    if isinstance(form, list):
        for number, each in enumerate(value):
            check(each, form[0], where, f"{path}[{number}]")
    for key, inner in form.items() if isinstance(form, dict) else ():
        name = key.rstrip("?")
        if value.get(name) is not None or name == key:
            check(value.get(name), inner, where, f"{path}.{name}" if path else name)


def load(path: Path, schema: str, form: Any, remedy: str) -> Any:
    """The document of a file, if it is of the schema and the form."""
    document = parse_json(read_text(path), str(path))
    held = document.get("schema") if isinstance(document, dict) else None
    if held != schema:
        fail(str(path), f"holds {held or 'another document'}, not {schema}: {remedy}")
    check(document, form, str(path))
    return document


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], title: str) -> str:
    """A table in HTML for notebooks."""
    def line(tag: str, cells: Sequence[Any]) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(str(each))}</{tag}>' for each in cells)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><caption>{html.escape(title)}</caption>{line('th', head)}{body}</table>"


class Fields:
    """Checked access to one object of a document; errors name the file and the field."""

    def __init__(self, value: Any, where: str, path: str = "") -> None:
        self.where, self.path = where, path
        check(value, dict, where, path)
        self.value: Dict[str, Any] = value

    def fail(self, key: str, what: str) -> NoReturn:
        """Raises FatuneError (4) about the field `key`."""
        fail(self.where, f"field '{self._path(key)}' {what}")

    def _path(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def get(self, key: str, kind: type, default: Optional[Any] = None) -> Any:
        """The value of a field, which must be of `kind`; without a default it must be there."""
        if key not in self.value and default is not None:
            return default
        value = self.value.get(key)
        check(value, kind, self.where, self._path(key))
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
