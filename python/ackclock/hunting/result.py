"""The result of `hunt`: its document, a table for the terminal, and a report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rich.table import Table

from ackclock.format import many
from ackclock.report.page import Cell, Column, Facts, Listing, Page, Section
from ackclock.report.page import Table as PageTable
from ackclock.result import Result
from ackclock.terminal import TextBelow

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.hunt import Hunt as HuntDocument
    from ackclock.documents.hunt import HuntCase

HEADS = ("case", "variant", "limit", "figure", "seeds", "found at", "nearest link", "what happens")
MAX_ROWS = 6
"""Rows of one screen."""


@dataclass(frozen=True, repr=False)
class Hunt(Result):
    """The cases in which an objective is worst, made simple; one for each mechanism.

    `document` is the JSON of ``ackclock hunt --json`` (docs/reference/hunt.md); `folder` the run
    folder with a scenario for each case, None without one.
    """

    document: HuntDocument
    folder: Path | None = None

    @property
    def cases(self) -> pl.DataFrame:
        """One row for each case: number, value, found (before it was made simple), at_run, variant,
        limit, event, seeds_broken, link (the nearest packaged one), decades, sentence.
        """
        import polars as pl

        schema = {
            "number": pl.Int64,
            "value": pl.Float64,
            "found": pl.Float64,
            "at_run": pl.Int64,
            "variant": pl.String,
            "limit": pl.String,
            "event": pl.String,
            "seeds_broken": pl.Int64,
            "link": pl.String,
            "decades": pl.Float64,
            "sentence": pl.String,
        }
        rows = [
            (
                case["number"],
                case["figure"]["value"],
                case["found"]["value"],
                case["at_run"],
                case["mechanism"]["variant"],
                case["mechanism"]["limit"],
                case["mechanism"]["event"],
                case["seeds"]["broken"],
                case["nearest"]["link"],
                case["nearest"]["decades"],
                case["sentence"],
            )
            for case in self.document["cases"]
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`cases`."""
        return {"cases": self.cases}

    def _page(self) -> Page:
        return page(self.document)

    def _title(self) -> str:
        return self.document["verdict"]

    def _tables(self) -> Iterable[Table]:
        return tables(self.document)


def read_folder(folder: Path) -> Hunt:
    """The hunt in a finished run folder."""
    from ackclock.storage.run_kind import HUNT
    from ackclock.storage.stored_files import read_json

    return Hunt(cast("HuntDocument", read_json(folder / HUNT.document)), folder)


def tables(document: HuntDocument, *, every: bool = True) -> list[Table]:
    """What broke, a row for each case; nothing where nothing broke. With `every`, the sentence of
    each case stands below its row.
    """
    if not document["cases"]:
        return []
    kind = TextBelow if every else Table
    table = kind(title=_head(document), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in HEADS if every else HEADS[:-1]:
        right = name in ("case", "figure", "seeds", "found at")
        table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=not every)
    for case in document["cases"] if every else document["cases"][:MAX_ROWS]:
        table.add_row(*_cells(case), *([_below(case)] if every else []))
    return [table]


def _cells(case: HuntCase) -> list[str]:
    return [
        str(case["number"]),
        case["mechanism"]["variant"],
        (case["mechanism"]["limit"] or "-").replace("_", " "),
        case["figure"]["text"],
        f"{case['seeds']['broken']} of {case['seeds']['of']}",
        str(case["at_run"]),
        case["nearest"]["link"],
    ]


def _below(case: HuntCase) -> str:
    verification = case.get("verification")
    return case["sentence"] + (f" {verification['text']}" if verification else "")


def _head(document: HuntDocument) -> str:
    name = f"{document['title']}: " if document["title"] else ""
    return f"{name}{document['objective']['what']}"


def lines(document: HuntDocument, *, every: bool = True) -> list[str]:
    """What stands below the table: without `every` what happens in the worst case, then the files
    and the verdict.
    """
    cases = document["cases"]
    if not cases:
        return [document["verdict"]]
    further = ["", f"Case 1: {_below(cases[0])}"] if not every else []
    if not every and len(cases) > 1:
        further.append("`--all` says what happens in the others.")
    again = [f"To see one again: `ackclock simulate {cases[0]['scenario']}` in the run folder."]
    return [*further, "", *(again if cases[0]["scenario"] else []), document["verdict"]]


def page(document: HuntDocument) -> Page:
    """The report."""
    search, objective = document["search"], document["objective"]
    sections = []
    if document["cases"]:
        columns = [
            Column("Case", numeric=True),
            Column("What happens", room="wide"),
            Column("Figure", numeric=True),
            Column("Further seeds", numeric=True),
            Column("Nearest link"),
        ]
        rows = [
            [
                Cell(str(case["number"])),
                Cell(case["sentence"], note=(case.get("verification") or {"text": ""})["text"]),
                Cell(case["figure"]["text"], note=f"{case['found']['text']} before it was made simple"),
                Cell(f"{case['seeds']['broken']} of {case['seeds']['of']}"),
                Cell(case["nearest"]["link"], note=f"{case['nearest']['decades']:.1f} decades"),
            ]
            for case in document["cases"]
        ]
        sections.append(
            Section(
                "What breaks",
                [PageTable(columns, rows, "Each case is as simple as it can be while most of the effect stays.")],
            )
        )
        needs = "\n\n".join(
            "\n".join([f"case {case['number']}", *(f"  {need}" for need in case["needs"])])
            for case in document["cases"]
        )
        sections.append(
            Section("What each case needs", [Listing("Values that the simplest case has not", needs, open=True)])
        )
    facts = [
        ("figure", objective["what"]),
        ("searched", f"{many(search['runs'], 'case')} by {search['searcher']}, seed {search['seed']}"),
        ("broke", str(search["broken"])),
        ("not allowed", str(search["forbidden"])),
        ("no valid scenario", str(search["invalid"])),
        ("simplest case", document["simplest"]["text"]),
        ("worst case", document["worst"]["text"]),
    ]
    sections.append(Section("The search", [Facts(facts)]))
    return Page(document["title"] or "A hunt", objective["what"], document["verdict"], "", sections, kind="hunt")
