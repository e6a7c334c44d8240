"""The keys of the files that users write: unit, default, limits, meaning and an example, which are
in the structs of the tables (crates/scenario).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Key:
    """A key of a table in a link file, scenario or plan of a measurement.

    >>> from docsite.keys import keys
    >>> next(key for key in keys("CoDel") if key.name == "target").default
    '"5 ms"'
    """

    table: str
    """The name of the table."""
    name: str
    unit: str
    """Of the value: b/s, time, size, share, segments, choice, table, .."""
    default: str
    """The value of an absent key, as TOML or in words; "required" where it may not be absent."""
    limits: str
    """The values that are allowed, in the words of the error message; empty: any of the unit."""
    text: str
    example: str
    """A valid value, as TOML."""


def keys(table: str) -> Iterator[Key]:
    """The keys of a table as written in files: the kind, then in the order of its struct."""
    from ackclock import _native

    for name, *rest in sorted(_native.table_keys(table), key=lambda row: row[0] != "kind"):
        yield Key(table, name, *rest)


def toml(value: Any) -> str:
    """A plain value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(one)}" for name, one in value.items() if one is not None) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return f'"{value}"'


__all__ = ["Key", "keys", "toml"]
