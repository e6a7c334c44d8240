"""The values of a link file that have no source: its [[assumed]] tables
(crates/scenario/src/link/file.rs).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.errors import InvalidValue, format_value
from ackclock.input.checked_table import ReadBy
from ackclock.input.document import Document, read_document
from ackclock.input.scenario.draft import find_link

READ_ASSUMPTION = ReadBy("Assumption")


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
        try:
            assumed = READ_ASSUMPTION(table)
        except InvalidValue as invalid:
            raise document.error(("assumed", index, *invalid.key), invalid) from None
        yield from (Assumption(assumed.key, value) for value in assumed.values)
