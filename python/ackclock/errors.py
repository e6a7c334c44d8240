"""Bad input: one message with file, line, key, what was found and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Refusal(ValueError):
    """A value that cannot be taken, before anyone knows in which file it stands.

    `key` names the entry below the place where it is raised, when that is more exact.
    """

    def __init__(self, found: str, allowed: str, key: tuple[str | int, ...] = ()) -> None:
        super().__init__(f"found {found}; allowed: {allowed}")
        self.found = found
        self.allowed = allowed
        self.key = key


class InputError(Exception):
    """Bad input. `str()` is one line; the command line prints it and exits with 2."""

    def __init__(
        self,
        found: str,
        allowed: str,
        *,
        file: str | None = None,
        line: int | None = None,
        key: str = "",
    ) -> None:
        self.file = file
        self.line = line
        self.key = key
        self.found = found
        self.allowed = allowed
        super().__init__(self._message())

    def _message(self) -> str:
        where = self.file or ""
        if self.line is not None:
            where = f"{where or 'input'}:{self.line}"
        parts = [part for part in (where, self.key) if part]
        parts.append(f"found {self.found}; allowed: {self.allowed}")
        return " ".join(": ".join(parts).split())


class RunFailed(Exception):
    """A run failed in the engine; the message names its parameters and seed. The command line exits with 1."""


def show(value: object) -> str:
    """A found value as the user wrote it, cut to a readable length."""
    if isinstance(value, str):
        text = f'"{value}"'
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, dict):
        text = "a table (" + (", ".join(map(str, value)) or "empty") + ")"
    elif isinstance(value, list | tuple):
        text = f"[{', '.join(map(show, value[:20]))}]" if value else "an empty list"
    else:
        text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def one_of(names: Iterable[str], found: object = None) -> str:
    """The allowed names, with the nearest one to what was found."""
    names = list(names)
    listed = ", ".join(names) if names else "nothing here"
    near = nearest(found, names) if isinstance(found, str) else None
    return f"{listed} (did you mean {near}?)" if near else listed


def nearest(found: str, names: list[str]) -> str | None:
    """The name most like `found`, letter case counting only as a tie-break; None when nothing is like it."""
    if found in names:
        return found
    by_lower = {name.lower(): name for name in reversed(names)}
    if found.lower() in by_lower:
        return by_lower[found.lower()]
    near = difflib.get_close_matches(found, names, n=1, cutoff=0.75)
    if near:
        return near[0]
    lower = difflib.get_close_matches(found.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[lower[0]] if lower else None
