"""A difference as tables for the terminal, and as a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from ackclock.format import figure, range_text
from ackclock.report.page import Cell, Chart, Column, Page, Section
from ackclock.report.page import Table as PageTable
from ackclock.terminal import text_table

if TYPE_CHECKING:
    from ackclock.documents.diff import FigureDifference, RunDifference

WORDS = {True: "differs", False: "", None: "undecidable"}
"""`differs` in words."""
MAX_ROWS = 40
"""Maximum number of rows of a table on the terminal; `--all` prints the others."""


def tables(document: RunDifference, *, all_rows: bool = True) -> list[Table]:
    """One row for each figure, those that differ first; figures that are equal on both sides and
    rows beyond `MAX_ROWS` only with `all_rows`.
    """
    table = text_table("A and B", ["where", "figure", ""], ["A", "B", "B - A", "95 % interval"])
    rows = sorted(document["metrics"], key=lambda row: (row["differs"] is not True, row["differs"] is False))
    shown = rows if all_rows else [row for row in rows if row["method"] != "equal"][:MAX_ROWS]
    for row in shown:
        table.add_row(row["where"], row["metric"], WORDS[row["differs"]], *_numbers(row))
    if len(rows) > len(shown):
        equal = sum(row["method"] == "equal" for row in rows)
        table.caption = f"{len(rows) - len(shown)} further rows, {equal} of equal figures: --all, or --json."
        table.caption_justify = "left"
    return [table]


def lines(document: RunDifference) -> list[str]:
    """The sentences below the table."""
    test = "Student's paired t test of the seeds" if document["paired"] else "Welch's t test"
    rows = document["metrics"]
    counts = [sorted({row["n_a"] for row in rows}), sorted({row["n_b"] for row in rows})]
    n = " and ".join(str(c[0]) if c[0] == c[-1] else f"{c[0]} to {c[-1]}" for c in counts)
    only = {"A": document["only_in_a"], "B": document["only_in_b"]}
    return [
        document["verdict"],
        f"By {test}, corrected by {document['correction']}. Values of A and B: {n}.",
        *(f"Only in {side}: {'; '.join(places)}." for side, places in only.items() if places),
    ]


def page(document: RunDifference) -> Page:
    """The report of a difference."""
    columns = [
        Column("Where", room="wide"),
        Column("Figure"),
        *(Column(name, numeric=True) for name in ("A", "B", "B - A", "95 % interval")),
        Column("Verdict", room="medium"),
    ]
    rows = [
        [
            Cell(row["where"]),
            Cell(row["metric"]),
            *map(Cell, _numbers(row)),
            Cell(WORDS[row["differs"]], note=f"n = {row['n_a']} and {row['n_b']}, {row['method']}"),
        ]
        for row in document["metrics"]
    ]
    answer, *notes = lines(document)
    return Page(
        title=f"{document['a']} and {document['b']}",
        subtitle=f"two {document['kind']}s" if document["kind"] == "capture" else f"two runs of {document['kind']}",
        answer=answer,
        because="",
        sections=[
            *([Section("Differences", [drawn])] if (drawn := _chart(document)) else []),
            Section("Figures", [PageTable(columns, rows)]),
        ],
        notes=notes,
        kind="diff",
    )


def _chart(document: RunDifference) -> Chart | None:
    """The differences in percent of A with their intervals, those that differ first; None without
    one that has an interval.
    """
    from ackclock.plot.vega import DifferenceRow, differences

    known = [
        (row, 100.0 / abs(base), row["difference"], row["lo"], row["hi"])
        for row in document["metrics"]
        if (base := row["a"]) and row["lo"] is not None and row["differs"] is not None
    ]
    rows: list[DifferenceRow] = [
        {
            "label": f"{row['metric']}, {row['where']}" if row["where"] else str(row["metric"]),
            "verdict": "differs" if row["differs"] else "no more than chance",
            "mean": scale * (mean or 0.0),
            "lo": scale * (lo or 0.0),
            "hi": scale * (hi or 0.0),
        }
        for row, scale, mean, lo, hi in sorted(known, key=lambda one: not one[0]["differs"])
    ]
    if not rows:
        return None
    shown = rows[:MAX_ROWS]
    left = f" The first {len(shown)} of {len(rows)}; the table has all." if len(rows) > len(shown) else ""
    reading = f"B - A in percent of A with the 95 % interval. At 0 both are equal.{left}"
    return Chart("B - A in percent of A", reading, differences(shown))


def _numbers(row: FigureDifference) -> list[str]:
    metric = str(row["metric"])
    lo, hi = (figure(row[key], metric) for key in ("lo", "hi"))
    sides = [figure(row[key], metric) for key in ("a", "b", "difference")]
    unit = lo.rpartition(" ")[2]
    same = lo.removesuffix(f" {unit}") if hi.endswith(f" {unit}") else lo
    return [*sides, "-" if row["lo"] is None else range_text(same, hi)]
