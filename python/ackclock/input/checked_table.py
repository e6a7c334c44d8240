"""Tables that Rust reads (crates/scenario): keys, bounds, texts and messages are there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ackclock._native import CheckedTable
else:
    CheckedTable = Any


@dataclass(frozen=True)
class ReadBy:
    """The check of a table: the name of its struct, or of an enum of several kinds."""

    table: str

    def __call__(self, value: Any) -> CheckedTable:
        """The checked table. Raises InvalidValue."""
        from ackclock import _native

        return _native.read_table(self.table, value)


def replaced(table: CheckedTable, **keys: Any) -> CheckedTable:
    """The same table with other values of some keys, as a file has them. Raises InvalidValue."""
    return ReadBy(table.table_name)({**table.written(given=True), **keys})


@cache
def kinds(table: str) -> dict[str, str]:
    """The kinds of a table that has several, with the names of their structs."""
    from ackclock import _native

    return dict(_native.table_kinds(table))


def described(table: str) -> dict[str, str]:
    """The kinds of a table that has several, with what each is."""
    from ackclock import _native

    _, definitions = _native.table_schema(table)
    return {kind: definitions[name]["description"] for kind, name in kinds(table).items()}


@cache
def words(table: str, key: str) -> tuple[str, ...]:
    """The words that a key may be."""
    from ackclock import _native

    _, definitions = _native.table_schema(table)
    return tuple(definitions[table]["properties"][key]["enum"])


__all__ = ["CheckedTable", "ReadBy", "described", "kinds", "replaced", "words"]
