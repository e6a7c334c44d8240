"""The report of a fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.fitting.measured_chart import measured_chart
from ackclock.fitting.terminal_tables import interval, not_identified_lines, value
from ackclock.limitations import FITTED
from ackclock.report.page import Cell, Column, Listing, Page, Section, Table

if TYPE_CHECKING:
    from ackclock.documents.fit import FittedLink


def page(document: FittedLink, text: str) -> Page:
    """The parameters, and the link file."""
    rows = [
        [
            Cell(row["path"]),
            Cell(value(row)),
            Cell(interval(row)),
            Cell(row["status"]),
            Cell(row["evidence"], note=row["method"]),
        ]
        for row in document["parameters"]
    ]
    columns = [
        Column("Parameter"),
        Column("Value", numeric=True),
        Column("95 % interval", numeric=True),
        Column("Status"),
        Column("Evidence", room="wide"),
    ]
    identified = sum(row["status"] == "identified" for row in document["parameters"])
    return Page(
        title=document["title"],
        subtitle=", ".join(f"{Path(one['capture']).name} ({one['end']})" for one in document["inputs"]),
        answer=f"The captures identify {identified} of {len(rows)} parameters of the link.",
        because=document["score"]["sentence"] if document["score"] else "",
        sections=[
            *([Section("Fitted and measured", [drawn])] if (drawn := measured_chart(document)) else []),
            Section("Parameters", [Table(columns, rows)]),
            Section("Link file", [Listing("The link file", text)]),
        ],
        notes=[*not_identified_lines(document), *document["remarks"]],
        kind="fit",
        facts=(FITTED,),
    )
