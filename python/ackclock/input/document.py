"""A TOML file with the lines its keys stand on, so that every complaint can point at one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, InvalidValue, nearest_file, not_readable
from ackclock.input.schema import Loc
from ackclock.input.toml_positions import key_lines

_LINE_IN_MESSAGE = re.compile(r"\s*\(at line (\d+), column \d+\)|\s*\(at end of document\)")


@dataclass(frozen=True)
class Document:
    """Values as written and where they stand. `file` is None for values handed over in Python."""

    data: dict[str, Any]
    file: str | None = None
    text: str = ""

    @property
    def folder(self) -> Path:
        """The folder paths in this document are relative to."""
        return Path(self.file).parent if self.file is not None else Path()

    @cached_property
    def lines(self) -> dict[Loc, int]:
        return key_lines(self.text) if self.file is not None else {}

    def error(self, loc: Loc, refusal: InvalidValue) -> InputError:
        """The complaint about the key at `loc`, on the line of the nearest thing that was written."""
        line = next((self.lines[loc[:n]] for n in range(len(loc), 0, -1) if loc[:n] in self.lines), None)
        key = spoken(loc, self.data)
        return InputError.of(refusal, file=self.file, line=line, key=key)


def read_document(path: Path) -> Document:
    """Read a TOML file. Raises InputError for a missing, unreadable or broken one."""
    name = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        near = nearest_file(path)
        raise InputError("no such file", f"a TOML file (did you mean {near}?)" if near else "a TOML file", file=name) from None
    except (OSError, UnicodeDecodeError) as error:
        raise not_readable(error, name, "a TOML file") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _broken(str(error), text, name) from None
    return Document(data, name, text.replace("\r\n", "\n"))


def _broken(message: str, text: str, name: str) -> InputError:
    where = _LINE_IN_MESSAGE.search(message)
    line = int(where[1]) if where and where[1] else text.count("\n") + 1
    reason = _LINE_IN_MESSAGE.sub("", message)
    lines = text.splitlines()
    found = f"broken TOML ({reason})" + (f" in `{lines[line - 1].strip()}`" if 0 < line <= len(lines) else "")
    return InputError(found, 'TOML 1.0, such as key = "value"', file=name, line=line)


def spoken(loc: Loc, data: Any) -> str:
    """A location as people say it: array elements by their name where they have one, else counted from 1."""
    words: list[str] = []
    for part in loc:
        data = _step(data, part)
        if not isinstance(part, int):
            words.append(part)
        elif isinstance(data, Mapping) and isinstance(data.get("name"), str):
            words.append(data["name"])
        else:
            words[-1:] = [f"{words[-1]}[{part + 1}]"] if words else [f"[{part + 1}]"]
    return ".".join(words)


def _step(data: Any, part: str | int) -> Any:
    if isinstance(data, Mapping):
        return data.get(part)
    if isinstance(data, list | tuple) and isinstance(part, int) and part < len(data):
        return data[part]
    return None
