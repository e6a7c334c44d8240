"""A comparison in 20 lines of 80 columns: choices, what else is to be known, the verdict last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from ackclock.comparison import household_answer, verdict
from ackclock.comparison.conditions import NOT_TRIED
from ackclock.comparison.terminal_tables import RankingColumn, measured_table, own_rows, ranking_columns, warnings
from ackclock.comparison.transports import named
from ackclock.limitations import facts_of, sentence
from ackclock.simulation.household import LONG_RTT
from ackclock.terminal import GAP, SCREEN, first_that_fits, height, text_table

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.documents.compare import Comparison as Document
    from ackclock.documents.compare import Rank

MAX_LINES = 20
MAX_ROWS = 7
"""Rows of a table of choices."""
MIN_ROWS = 4
"""Rows of choices that stay, where there is not room for all sentences."""
LEFT_OUT = ("95 %", "retrans-", "opposite", "Jain")
"""The first lines of the heads that are left out where a row is too long."""


def screen(document: Document) -> tuple[list[Table], list[str]]:
    """The tables, and the sentences below them."""
    return household_screen(document) if household_answer.is_of_apps(document) else transfers_screen(document)


def household_screen(document: Document) -> tuple[list[Table], list[str]]:
    """What people feel, the best choice with each queue, and the verdict."""
    notes = [note for note in document["notes"] if not note.startswith(NOT_TRIED)]
    bounds = [note for note in notes if note.startswith(LONG_RTT)]
    of_link = limits(document)
    max_rows = MIN_ROWS - 1 if of_link else MAX_ROWS  # a sentence says more than the last queue
    return _fitted(
        lambda rows: household_answer.screen_tables(document, min(rows, max_rows)),
        [*bounds, *household_answer.screen_sentences(document), *(note for note in notes if note not in bounds)],
        [*of_link, household_answer.screen_verdict(document)],
    )


def transfers_screen(document: Document) -> tuple[list[Table], list[str]]:
    """The first rows of the ranking, the recommended one among them, and the verdict."""
    metrics = {cell["label"]: cell["metrics"] for cell in document["cells"]}
    label = verdict.recommended_label(document)
    best = next((ranked for ranked in document["ranking"] if ranked["label"] == label), None)
    quick = document.get("quick")
    if not quick or quick == label or not verdict.is_within_bound(document, quick):
        quick = None
    other = verdict.first_of_other_transport(document)
    seen = warnings(document["scenario"]["hop"], document.get("recordings", ()), ())
    sentences = [
        *([best["why"]] if best else []),
        verdict.other_transport(document, metrics),
        *seen,
        verdict.settings(best) if best else "",
        *verdict.harmed(document, metrics)[:1],
        *([verdict.ties(document, metrics)] if best and best["rank"] == 1 else []),
        *([verdict.by_goal(document, label)] if label else []),
        *([verdict.low_latency(document, metrics, quick)] if quick else []),
        *verdict.otherwise(document)[:1],
        *([verdict.price(document, label)] if label else []),
        verdict.first_look(document),
        *(note for note in document["notes"] if not note.startswith(NOT_TRIED)),
    ]
    measured = measured_table(document.get("measured", ()))
    return _fitted(
        lambda rows: [_ranking(document, rows, [label, quick, other["label"] if other else None]), *measured],
        list(filter(None, sentences)),
        [*limits(document), verdict.recommendation(document, metrics)],
    )


def facts(document: Document) -> frozenset[str]:
    """What of the compared link and transports touches the verdict."""
    return facts_of(document["scenario"]["hop"], {cell["transport"] for cell in document["cells"]})


def limits(document: Document) -> list[str]:
    """The line of limitations that touch the verdict; none without one."""
    return sentence("compare", facts(document))


def _fitted(
    tables: Callable[[int], list[Table]], sentences: Sequence[str], last: list[str]
) -> tuple[list[Table], list[str]]:
    """The tables with as many rows as there is room for, the sentences that fit, the most important
    first, and the last ones in any case.
    """
    found, _ = first_that_fits(((tables(rows), last) for rows in range(MIN_ROWS, 0, -1)), MAX_LINES)
    kept: list[str] = []
    for text in sentences:
        if height(found, [*kept, text, *last]) <= MAX_LINES:
            kept.append(text)
    below = [*kept, *last]
    more = ((tables(rows), below) for rows in range(MAX_ROWS, MIN_ROWS, -1))
    return first_that_fits(chain(more, [(found, below)]), MAX_LINES)


def _ranking(document: Document, rows: int, labels: Sequence[str | None]) -> Table:
    """The first rows of the ranking, and those of the choices that sentences name. What all have in
    common has no column.
    """
    every = own_rows(document["ranking"])
    chosen = [ranked for ranked in every if ranked["label"] in labels]
    first = [ranked for ranked in every if ranked not in chosen][: max(0, rows - len(chosen))]
    shown = [ranked for ranked in every if ranked in chosen or ranked in first]
    columns = _columns(document, shown)
    table = text_table(f"{named(document['ranking'])} over {document['title'] or document['link']}", [], [])
    for column in columns:
        table.add_column(column.head, justify="right" if column.is_number else "left", no_wrap=True)
    for ranked in shown:
        table.add_row(*(column.text(ranked) for column in columns))
    of = f"all {len(every)} choices" if len(every) > len(shown) else "the choices"
    prices = document.get("prices")
    with_prices = ", and the prices" if prices and prices["choices"] else ""
    table.caption, table.caption_justify = f"`--all` prints {of} with their reasons{with_prices}.", "left"
    return table


def _columns(document: Document, shown: Sequence[Rank]) -> list[RankingColumn]:
    """The columns of a ranking in which its configurations differ, or figures, as many as fit."""
    metrics = {cell["label"]: cell["metrics"] for cell in document["cells"]}
    columns = ranking_columns(document["ranking"], metrics)
    apart = [
        column
        for column in columns
        if column.is_number
        or column.head == "variant"
        or len({column.text(ranked) for ranked in document["ranking"]}) > 1
    ]
    for head in ("", *LEFT_OUT):
        apart = [column for column in apart if not head or not column.head.startswith(head)]
        widths = [max(map(len, [*column.head.split("\n"), *map(column.text, shown)])) for column in apart]
        if sum(widths) + len(GAP) * (len(widths) - 1) <= SCREEN[0]:
            break
    return apart
