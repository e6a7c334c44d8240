"""The report of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.fitting.terminal_tables import interval, not_identified_lines, quantity
from ackclock.report.page import Cell, Column, Listing, Page, Section, Table


def page(document: Mapping[str, Any], text: str) -> Page:
    """The parameters, and the link file."""
    rows = [
        [
            Cell(row["path"]),
            Cell(row.get("kind", "-") if row["value"] is None else quantity(row["value"], row["unit"])),
            Cell(interval(row)),
            Cell(row["status"]),
            Cell(row["evidence"], note=row["method"]),
        ]
        for row in document["parameters"]
    ]
    columns = [
        Column("parameter"),
        Column("value", numeric=True),
        Column("95 % interval", numeric=True),
        Column("status"),
        Column("evidence", room="wide"),
    ]
    identified = sum(row["status"] == "identified" for row in document["parameters"])
    return Page(
        title=str(document["title"]),
        subtitle=", ".join(f"{one['capture']} ({one['end']})" for one in document["inputs"]),
        answer=f"The captures identify {identified} of {len(rows)} parameters of the link.",
        because="",
        sections=[
            Section("Parameters", [Table(columns, rows)]),
            Section("Link file", [Listing("The link file", text)]),
        ],
        notes=[*not_identified_lines(document), *document["remarks"]],
        kind="fit",
    )
