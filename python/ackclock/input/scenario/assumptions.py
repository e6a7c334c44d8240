"""The values of a link file that have no source: its [[assumed]] tables.

A table has a `key`, as a sweep names it, and `values`: others that are as likely.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.errors import InvalidValue, choices, format_value
from ackclock.input.document import Document, read_document
from ackclock.input.scenario.draft import find_link

KEYS = ("key", "values")


@dataclass(frozen=True, slots=True)
class Assumption:
    """A key of a link whose value has no source, and another value."""

    key: str
    value: Any


def assumptions(link: str | Path) -> list[Assumption]:
    """Those of a packaged link or a link file. Raises InputError."""
    path = find_link(str(link), Path())
    return list(_read(read_document(path))) if path else []


def _read(document: Document) -> Iterator[Assumption]:
    tables = document.data.get("assumed", [])
    if not isinstance(tables, list):
        raise document.error(("assumed",), InvalidValue(format_value(tables), "[[assumed]] tables"))
    for index, table in enumerate(tables):
        at = ("assumed", index)
        if not isinstance(table, dict):
            raise document.error(at, InvalidValue(format_value(table), "a table with `key` and `values`"))
        for key in table:
            if key not in KEYS:
                invalid = InvalidValue(f'unknown key "{key}"', choices(KEYS, key), code="unknown-key")
                raise document.error((*at, key), invalid)
        key, values = table.get("key"), table.get("values")
        if not isinstance(key, str) or not key.startswith("hop."):
            allowed = "a key of a hop, such as `hop.air.loss.mean`"
            raise document.error((*at, "key"), InvalidValue(format_value(key), allowed))
        if not isinstance(values, list) or not values:
            raise document.error((*at, "values"), InvalidValue(format_value(values), "a list of other values"))
        yield from (Assumption(key, value) for value in values)
