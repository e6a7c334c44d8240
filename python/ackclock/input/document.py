"""A TOML file with the line of each key, which error messages name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, InvalidValue, Key, nearest_file, not_readable
from ackclock.input.toml_positions import key_lines

_LINE_IN_MESSAGE = re.compile(r"\s*\(at line (\d+), column \d+\)|\s*\(at end of document\)")

_MAX_DEPTH = 32
"""Tables and arrays in each other; no valid file has more than ten."""
_DEEP = f"tables or arrays nested more than {_MAX_DEPTH} deep"


@dataclass(frozen=True)
class Document:
    """The values of a document and the lines of its keys.

    `file` is None for values passed in Python.
    """

    data: dict[str, Any]
    file: str | None = None
    text: str = ""

    @property
    def folder(self) -> Path:
        """The folder to which paths in this document are relative."""
        return Path(self.file).parent if self.file is not None else Path()

    @cached_property
    def lines(self) -> dict[Key, int]:
        return key_lines(self.text) if self.file is not None else {}

    def error(self, loc: Key, invalid: InvalidValue) -> InputError:
        """The error about the key at `loc`, with the line of the key or of the nearest key above
        it.
        """
        line = next((self.lines[loc[:n]] for n in range(len(loc), 0, -1) if loc[:n] in self.lines), None)
        key = format_loc(loc, self.data)
        return InputError.of(invalid, file=self.file, line=line, key=key)


def read_document(path: Path) -> Document:
    """Read a TOML file. Raises InputError if it is missing, unreadable or invalid."""
    name = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        near = nearest_file(path)
        raise InputError(
            "no such file",
            f"a TOML file (did you mean {near}?)" if near else "a TOML file",
            file=name,
            code="file",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise not_readable(error, name, "a TOML file") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _broken(str(error), text, name) from None
    except RecursionError:
        raise InputError(_DEEP, f"a depth of at most {_MAX_DEPTH}", file=name, code="toml") from None
    if _is_deep(data):
        raise InputError(_DEEP, f"a depth of at most {_MAX_DEPTH}", file=name, code="toml")
    return Document(data, name, text.replace("\r\n", "\n"))


def _is_deep(data: dict[str, Any]) -> bool:
    level: list[Any] = [data]
    for _ in range(_MAX_DEPTH):
        level = [value for part in level for value in _below(part)]
    return bool(level)


def _below(part: Any) -> Iterable[Any]:
    values = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return (value for value in values if isinstance(value, dict | list))


def _broken(message: str, text: str, name: str) -> InputError:
    position = _LINE_IN_MESSAGE.search(message)
    line = int(position[1]) if position and position[1] else text.count("\n") + 1
    reason = _LINE_IN_MESSAGE.sub("", message)
    lines = text.splitlines()
    statement = f"broken TOML ({reason})" + (f" in `{lines[line - 1].strip()}`" if 0 < line <= len(lines) else "")
    return InputError(statement, 'TOML 1.0, such as key = "value"', file=name, line=line, code="toml")


def format_loc(loc: Key, data: Any) -> str:
    """A location as text: an array element by its name if it has one, else by its number from 1."""
    parts: list[str] = []
    for part in loc:
        data = _step(data, part)
        if not isinstance(part, int):
            parts.append(part)
        elif isinstance(data, Mapping) and isinstance(data.get("name"), str):
            parts.append(data["name"])
        else:
            parts[-1:] = [f"{parts[-1]}[{part + 1}]"] if parts else [f"[{part + 1}]"]
    return ".".join(parts)


def _step(data: Any, part: str | int) -> Any:
    if isinstance(data, Mapping):
        return data.get(part)
    if isinstance(data, list | tuple) and isinstance(part, int) and part < len(data):
        return data[part]
    return None
