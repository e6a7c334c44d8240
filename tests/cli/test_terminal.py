"""Tables in a terminal that is narrower than the table."""

from __future__ import annotations

import re

import pytest
from rich.table import Table

from ackclock.terminal import narrow, text_table

WHY = "The receive window (64 KiB) limited goodput 98 % of the time: one window per RTT of 37 ms."


def ranking() -> Table:
    table = text_table("TCP over a link", ["rank", "variant"], ["goodput\nMb/s", "retrans-\nmitted %"])
    table.add_column("why")
    table.add_row("1=", "cubic", "15.377", "0.06", WHY)
    table.caption = "k = 0.555: the reverse path carries an ACK for every segment."
    return table


def numbers() -> Table:
    table = text_table("Flows", ["flow", "direction", "from"], [f"figure {n}" for n in range(12)])
    table.add_row("1", "a2b", "192.0.2.1:40000", *(f"{1000 + n}" for n in range(12)))
    return table


def claims() -> Table:
    table = text_table("Claims", ["claim", "metric", "paper", "why"], [])
    for column in table.columns:
        column.no_wrap = False
    table.add_row("P4-021", "the method of the paper for the buffer of a link", "4 ms " * 10, WHY)
    return table


def lines_of(table: Table, width: int) -> list[str]:
    lines = narrow(table, width)
    assert lines is not None
    return [line for _, line in lines]


@pytest.mark.parametrize("table", [ranking(), numbers(), claims()], ids=["ranking", "numbers", "claims"])
@pytest.mark.parametrize("width", [50, 62])
def test_narrow_table_keeps_every_word_within_the_width(table: Table, width: int) -> None:
    lines = lines_of(table, width)
    assert max(map(len, lines)) <= width
    text = " ".join(lines)
    for column in table.columns:
        for cell in column.cells:
            assert set(re.findall(r"\S+", str(cell))) <= set(re.findall(r"[^\s;]+", text))


def test_text_of_the_last_column_is_below_its_row() -> None:
    title, *head, row, below, _, note = lines_of(ranking(), 62)
    assert title == "TCP over a link" and note == "k = 0.555: the reverse path carries an ACK for every segment."
    assert [line.split() for line in head] == [["goodput", "retrans-"], ["rank", "variant", "Mb/s", "mitted", "%"]]
    assert row.split() == ["1=", "cubic", "15.377", "0.06"]
    assert below.startswith("    The receive window")


def test_split_columns_repeat_the_leading_columns() -> None:
    rows = [line.split() for line in lines_of(numbers(), 60) if line.startswith("1 ")]
    assert len(rows) == 4
    assert all(row[:2] == ["1", "a2b"] for row in rows)
    assert [cell for row in rows for cell in row[2:]] == ["192.0.2.1:40000", *(f"{1000 + n}" for n in range(12))]


def test_table_that_fits_is_left_to_rich() -> None:
    assert narrow(ranking(), 100) is None
