"""The form of tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table


def text_table(title: str, text: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table with columns of text, then columns of numbers, right-aligned."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in text:
        table.add_column(column, overflow="fold")
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    return table
