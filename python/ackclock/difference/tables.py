"""A difference as tables for the terminal, and as a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from ackclock.axis_titles import column_title, within
from ackclock.format import figure, joined, range_text
from ackclock.report.page import Cell, Chart, Column, Page, Section
from ackclock.report.page import Table as PageTable
from ackclock.terminal import first_that_fits, text_table

if TYPE_CHECKING:
    from ackclock.documents.diff import FigureDifference, RunDifference

WORDS = {True: "differs", False: "", None: "cannot say"}
"""`differs` in words."""
MAX_ROWS = 40
"""Rows of a chart."""
MAX_PLACES = 4
SCREEN_ROWS = 12
"""Rows of the table on the terminal; `--all` prints the others."""
MAIN_FIGURES = ("goodput_bps", "rtt_p95_ms", "rtt_ms_p95", "retransmission_rate")
"""The figures that are shown first of those of one verdict."""


def tables(document: RunDifference, *, all_rows: bool = True) -> list[Table]:
    """One row for each figure, those that differ first. Without `all_rows` only those of the first
    kind (that differ; else that nothing is known of; else all), as many as fit a screen.
    """
    rows = sorted(
        document["metrics"],
        key=lambda row: (row["differs"] is not True, row["differs"] is False, row["metric"] not in MAIN_FIGURES),
    )
    if all_rows:
        return [_table(rows)]
    unequal = [row for row in rows if row["method"] != "equal"]
    shown = [row for row in unequal if row["differs"] == unequal[0]["differs"]][:SCREEN_ROWS]
    numbers = range(len(shown), 0, -1) or [0]
    found, _ = first_that_fits(([_screen(shown[:number], len(rows))], lines(document)) for number in numbers)
    return found


def _title(row: FigureDifference) -> str:
    """A figure in words; the document has its name."""
    return column_title(str(row["metric"]))[0]


def _table(rows: Sequence[FigureDifference]) -> Table:
    table = text_table("A and B", ["where", "figure", ""], ["A", "B", "B - A", "95 % interval"])
    for row in rows:
        table.add_row(row["where"], _title(row), WORDS[row["differs"]], *_numbers(row))
    return table


def _screen(shown: Sequence[FigureDifference], count: int) -> Table:
    """The rows of one kind: with intervals where they have some, else with the differences."""
    places = {row["where"] for row in shown}
    sure = any(row["lo"] is not None for row in shown)
    head = "Figures that differ" if shown and shown[0]["differs"] else "Figures"
    place = f", {next(iter(places))}" if len(places) == 1 and any(places) else ""
    several = len(places) > 1
    last = "B - A,\n95 % interval" if sure else "B - A"
    table = text_table(f"{head}{place}", [*(["where"] if several else []), "figure"], ["A", "B", last])
    for row in shown:
        a, b, difference, interval = _numbers(row)
        table.add_row(*([row["where"]] if several else []), _title(row), a, b, interval if sure else difference)
    if count > len(shown):
        table.caption, table.caption_justify = f"{count - len(shown)} further rows: --all, or --json.", "left"
    return table


def lines(document: RunDifference) -> list[str]:
    """The sentences below the table."""
    test = "Student's paired t test of the seeds" if document["paired"] else "Welch's t test"
    rows = document["metrics"]
    counts = [sorted({row["n_a"] for row in rows}), sorted({row["n_b"] for row in rows})]
    n = " and ".join(str(c[0]) if c[0] == c[-1] else f"{c[0]} to {c[-1]}" for c in counts)
    only = {"A": document["only_in_a"], "B": document["only_in_b"]}
    return [
        *(f"Only in {side}: {_few(places)}." for side, places in only.items() if places),
        f"By {test}, corrected by {document['correction']}. Values of A and B: {n}.",
        _seen(document) or document["verdict"],
    ]


def _few(places: Sequence[str]) -> str:
    """Some places by name, and how many more."""
    more = len(places) - MAX_PLACES
    return "; ".join([*places[:MAX_PLACES], *([f"{more} more"] if more > 0 else [])])


def _seen(document: RunDifference) -> str:
    """What is seen where a side has one value of each figure, and what would say whether that is
    chance; empty where some figure has more.
    """
    rows = [row for row in document["metrics"] if row["method"] != "equal"]
    if not rows or any(row["differs"] is not None for row in rows):
        return ""
    main = [row for row in rows if row["metric"] in MAIN_FIGURES] or rows
    place = main[0]["where"]
    seen = joined([_of_both(row) for row in main if row["where"] == place][:3])
    unit = {"seed": "seeds", "flow": "flows that are not concurrent", "test": "tests"}[document["unit"]]
    where = f" of {place}" if place else ""
    return f"Seen{where}: {seen}. Whether that is more than chance, one value on a side cannot say; two {unit} or more can."


def _of_both(row: FigureDifference) -> str:
    """A figure of A and B in a clause, with the difference in percent of A."""
    metric = str(row["metric"])
    title = within(column_title(metric)[0])
    a, b = (figure(row[side], metric) for side in ("a", "b"))
    if a == b:
        return f"{title} {a} in both"
    change = f" ({100.0 * (row['difference'] or 0.0) / abs(row['a']):+.0f} %)" if row["a"] else ""
    return f"{title} {a} in A and {b} in B{change}"


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
            Cell(_title(row)),
            *map(Cell, _numbers(row)),
            Cell(WORDS[row["differs"]], note=f"n = {row['n_a']} and {row['n_b']}, {row['method']}"),
        ]
        for row in document["metrics"]
    ]
    *notes, answer = lines(document)
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
            "label": f"{_title(row)}, {row['where']}" if row["where"] else _title(row),
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
