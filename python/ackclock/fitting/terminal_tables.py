"""A fit as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from ackclock.format import milliseconds, percent, range_text, rate
from ackclock.terminal import SCREEN, height, text_table

if TYPE_CHECKING:
    from ackclock.documents.fit import FittedLink, FittedParameter


def parameters_table(document: FittedLink) -> Table:
    """The parameters with their intervals and evidence."""
    table = text_table(document["title"], ["parameter"], ["value", "95 % interval"])
    table.add_column("status")
    table.add_column("evidence", overflow="fold")
    for row in document["parameters"]:
        table.add_row(row["path"].removeprefix("hop."), value(row), interval(row), row["status"], row["evidence"])
    return table


def lines(document: FittedLink) -> list[str]:
    """What stands below the table: what is not identified, remarks, and what the fit is good
    for.
    """
    found = [*not_identified_lines(document), *(f"note: {text}" for text in document["remarks"])]
    if document["score"] is not None:
        found.append(document["score"]["sentence"])
    elif document["no_score"]:
        found.append(f"not scored: {document['no_score']}")
    return found


REST = "`--all` says how each value was found, and why not."


def screen(document: FittedLink) -> tuple[Table, list[str]]:
    """The parameters without their evidence, what is assumed, the remarks for which a small
    terminal has room, and what the fit is good for.
    """
    table = text_table(document["title"], ["parameter"], ["value", "95 % interval"])
    table.add_column("status")
    for row in document["parameters"]:
        table.add_row(row["path"].removeprefix("hop."), value(row), interval(row), row["status"])
    units = {row["path"]: row["unit"] for row in document["parameters"]}
    assumed = [
        f"{row['path'].removeprefix('hop.')} {quantity(row['default'], units[row['path']])}"
        for row in document["not_identified"]
        if row["default"] is not None
    ]
    kept = [f"Not identified, and assumed: {', '.join(assumed)}.", REST] if assumed else [REST]
    if document["score"] is not None:
        last = [document["score"]["sentence"]]
    else:
        last = [f"not scored: {document['no_score']}"] if document["no_score"] else []
    for text in document["remarks"]:
        if height([table], [*kept, f"note: {text}", *last]) <= SCREEN[1]:
            kept.append(f"note: {text}")
    return table, [*kept, *last]


def not_identified_lines(document: FittedLink) -> list[str]:
    """A line for each parameter that the captures do not identify."""
    units = {row["path"]: row["unit"] for row in document["parameters"]}
    lines = []
    for row in document["not_identified"]:
        default = "left out" if row["default"] is None else f"{quantity(row['default'], units[row['path']])} assumed"
        lines.append(f"not identified: {row['path'].removeprefix('hop.')}: {row['why']}; {default}")
    return lines


def quantity(value: float, unit: str) -> str:
    """A value with its unit."""
    if unit == "b/s":
        return rate(value)
    if unit == "ms":
        return milliseconds(value) if value else "0 ms"
    if unit == "B":
        return f"{value / 1e3:.4g} kB" if value >= 1e3 else f"{value:.0f} B"
    return percent(value)


def value(row: FittedParameter) -> str:
    """The value of a row, which may be a word."""
    return row.get("kind", "-") if row["value"] is None else quantity(row["value"], row["unit"])


def interval(row: FittedParameter) -> str:
    """The interval of a row; an open end is a word."""
    lo, hi, unit = row["lo"], row["hi"], row["unit"]
    if lo is None:
        return "-" if hi is None else f"up to {quantity(hi, unit)}"
    if hi is None:
        return f"from {quantity(lo, unit)}"
    return range_text(quantity(lo, unit), quantity(hi, unit))
