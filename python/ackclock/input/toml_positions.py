"""The line of each key in a TOML text: path of the key -> line number.

tomllib returns values without positions. This parser runs on a text that tomllib has accepted, so
it assumes valid TOML 1.0 and only tracks keys, tables and array elements.
"""

from __future__ import annotations

import re
import tomllib

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_STRINGS = (
    re.compile(r'"""(?:\\.|[^\\])*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:\\.|[^"\\\n])*"'),
    re.compile(r"'[^'\n]*'"),
)


def key_lines(text: str) -> dict[Path, int]:
    """Lines (from 1) of every table, array element and key, by path; array elements are counted
    from 0.
    """
    walk = _Walk(text)
    walk.document()
    return walk.lines


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._last_element: dict[Path, int] = {}
        self._counted_to = 0
        self._line = 1

    def document(self) -> None:
        table: Path = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self.text.startswith("[", self.at):
                table = self._header()
            else:
                self._key_and_value(table)
            self._skip(_BLANK)

    def _header(self) -> Path:
        line = self._line_now()
        is_element = self.text.startswith("[[", self.at)
        self.at += 2 if is_element else 1
        *parents, name = self._dotted_key()
        self.at += 2 if is_element else 1
        path: Path = ()
        for part in parents:
            path = self._into((*path, part))
        path = (*path, name)
        if is_element:
            index = self._last_element.get(path, -1) + 1
            self._last_element[path] = index
            self.lines.setdefault(path, line)
            path = (*path, index)
        self.lines.setdefault(path, line)
        return path

    def _into(self, path: Path) -> Path:
        """A header below an array of tables is in its last element."""
        return (*path, self._last_element[path]) if path in self._last_element else path

    def _key_and_value(self, table: Path) -> None:
        line = self._line_now()
        path = table
        for part in self._dotted_key():
            path = (*path, part)
            self.lines.setdefault(path, line)
        self.at += 1  # the equals sign
        self._value(path)

    def _dotted_key(self) -> list[str]:
        parts = []
        while True:
            self._skip(_SPACE)
            parts.append(self._key())
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def _key(self) -> str:
        for pattern in (_BARE_KEY, *_STRINGS[2:]):
            match = pattern.match(self.text, self.at)
            if match:
                self.at = match.end()
                return next(iter(tomllib.loads(f"{match[0]} = 0")))  # undoes quotes and escapes
        raise AssertionError(f"no key at line {self._line_now()}")

    def _value(self, path: Path) -> None:
        self._skip(_BLANK)
        if self.text.startswith("{", self.at):
            self._inline_table(path)
        elif self.text.startswith("[", self.at):
            self._array(path)
        else:
            for pattern in (*_STRINGS, _SCALAR):
                match = pattern.match(self.text, self.at)
                if match:
                    self.at = match.end()
                    return

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        self._skip(_BLANK)
        while not self.text.startswith("}", self.at):
            self._key_and_value(path)
            self._skip_comma()
        self.at += 1

    def _array(self, path: Path) -> None:
        self.at += 1
        self._skip(_BLANK)
        index = 0
        while not self.text.startswith("]", self.at):
            self.lines.setdefault((*path, index), self._line_now())
            self._value((*path, index))
            self._skip_comma()
            index += 1
        self.at += 1

    def _skip_comma(self) -> None:
        self._skip(_BLANK)
        if self.text.startswith(",", self.at):
            self.at += 1
            self._skip(_BLANK)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()

    def _line_now(self) -> int:
        self._line += self.text.count("\n", self._counted_to, self.at)
        self._counted_to = self.at
        return self._line
