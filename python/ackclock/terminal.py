"""The form of tables for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from textwrap import wrap as wrap_words
from typing import Any

from rich.table import Table
from rich.text import Text

GAP = "  "
"""Between two columns."""
INDENT = "    "
"""Before the text below a row."""
MAX_KEY = 12
"""Columns of a leading text column that is repeated if the columns are split."""
MAX_TEXT = 40
"""Columns of text that stay a column in a narrow terminal."""


CODE = re.compile(r"`[^`]*`")
"""A command or a name in a sentence."""
LABEL = re.compile(r"(note|not identified|not scored): ")
"""What precedes the entries of a list without an indent."""
QUANTITY = re.compile(r"(?<=\d) (?=(?:%|[kMG]?b/s|[kM]?B|[mu]?s)(?!\w))")
"""Between a number and its unit."""
_NO_BREAK = "\N{NO-BREAK SPACE}"


class ToType(str):
    """A line that is copied to a shell: it is not wrapped."""

    __slots__ = ()


SCREEN = (80, 24)
"""Columns and lines of a small terminal, which holds a command's default output."""
PROMPT = 2
"""Lines below an output that a shell needs, and the remark with the run folder."""


class TextBelow(Table):
    """A table whose last column, sentences, stands below each row in every width."""


def text_table(title: str, text: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table with columns of text, then columns of numbers, right-aligned."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in text:
        table.add_column(column, overflow="fold")
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def plain(content: Any) -> str:
    """A cell's text in one line, without markup."""
    text = Text.from_markup(content).plain if isinstance(content, str) and "[" in content else str(content)
    return " ".join(text.split())


def wrap(text: str, width: int, indent: str = "", hanging: str | None = None) -> list[str]:
    """The lines of a text; those after the first have the indent `hanging`, or the same. What
    stands in backticks is in one line if it fits, so that it can be copied.
    """
    whole = CODE.sub(
        lambda code: code[0].replace(" ", _NO_BREAK) if len(code[0]) <= width - len(indent) else code[0], text
    )
    lines = wrap_words(whole, width, initial_indent=indent, subsequent_indent=indent if hanging is None else hanging)
    return [line.replace(_NO_BREAK, " ") for line in lines]


@dataclass
class TextColumn:
    """A column of a table as plain text: the lines of its heading, and a line per cell."""

    heading: list[str]
    cells: list[str]
    right: bool = False
    wraps: bool = False

    @property
    def width(self) -> int:
        """The width of the longest line."""
        return max(map(len, [*self.heading, *self.cells]))

    @property
    def name(self) -> str:
        """The heading in one line."""
        return " ".join(self.heading).replace("- ", "").strip()


def wrapped(lines: Iterable[str], width: int) -> Iterator[str]:
    """The lines that stand below tables, of at most `width` columns. Further lines of an indented
    one, and of one with a label ("note: .."), are two columns further in; a number and its unit
    stay together.
    """
    for line in lines:
        if isinstance(line, ToType) or len(line) <= width:
            yield line
            continue
        indent = line[: len(line) - len(line.lstrip())]
        hanging = f"{indent}  " if indent or LABEL.match(line) else ""
        yield from wrap(QUANTITY.sub(_NO_BREAK, line.strip()), width, indent, hanging)


def columns_of(table: Table, rows: int | None = None) -> list[TextColumn]:
    """The columns of a table, with its first rows only if their number is given."""
    return [
        TextColumn(
            plain_lines(column.header),
            [plain(cell) for cell in islice(column.cells, rows)],
            column.justify == "right",
            not column.no_wrap,
        )
        for column in table.columns
    ]


def plain_lines(content: Any) -> list[str]:
    """The lines of a heading."""
    return str(content).split("\n")


def grid(columns: Sequence[TextColumn]) -> tuple[list[str], list[str]]:
    """The lines of the headings, aligned at the bottom, and a line per row."""
    height = max(len(column.heading) for column in columns)
    form = [(column.width, column.right) for column in columns]

    def line(texts: Sequence[str]) -> str:
        cells = (
            text.rjust(width) if right else text.ljust(width) for text, (width, right) in zip(texts, form, strict=True)
        )
        return GAP.join(cells).rstrip()

    headings = [[""] * (height - len(column.heading)) + column.heading for column in columns]
    head = [line(texts) for texts in zip(*headings, strict=True)]
    return head, [line(texts) for texts in zip(*(column.cells for column in columns), strict=True)]


def narrow(table: Table, width: int) -> list[tuple[str, str]] | None:
    """A table that is too wide for a terminal, as lines of at most `width` columns with their rich
    styles; None if the table fits, has no notes below it, and is as wide as its title, which rich
    would wrap.

    The text of the last column is below each row. Other columns are split into several tables with
    the same leading columns, or into a paragraph per row if there is more text.
    """
    columns = columns_of(table)
    fits = _span([min(column.width, MAX_TEXT) if column.wraps else column.width for column in columns]) <= width
    whole = _span([column.width for column in columns])
    has_wide_title = whole < len(str(table.title or "")) and whole <= width
    if fits and not isinstance(table, TextBelow) and not table.caption and not has_wide_title:
        return None
    long_text = columns[-1].wraps and columns[-1].width > MAX_TEXT
    below = columns.pop() if long_text or isinstance(table, TextBelow) else None
    lines = [("italic", line) for line in wrap(str(table.title or ""), width)]
    whole = _span([column.width for column in columns]) <= width
    if not whole and any(column.wraps and column.width > MAX_TEXT for column in columns):
        lines += _paragraphs(columns, below, width)
    else:
        blocks = _blocks(columns, width)
        for block in blocks:
            head, rows = grid(block)
            lines += [("bold", line) for line in head]
            for number, row in enumerate(rows):
                lines.append(("", row))
                if below and block is blocks[-1]:
                    lines += _below(below.cells[number], width)
    return [*lines, *(("dim", line) for note in _notes(table) for line in wrap(note, width))]


def _notes(table: Table) -> list[str]:
    return str(table.caption).splitlines() if table.caption else []


def _span(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _below(text: str, width: int) -> Iterator[tuple[str, str]]:
    for part in text.replace(" -> ", "\n-> ").split("\n"):
        for line in wrap(part, width, INDENT):
            yield "", line


def _blocks(columns: Sequence[TextColumn], width: int) -> list[list[TextColumn]]:
    """The columns in groups that fit; each begins with the leading columns of short text, and with
    those that distinguish the rows where they leave a third of the width.
    """
    keys = 1

    def is_key(column: TextColumn) -> bool:
        if column.wraps and column.width <= MAX_KEY:
            return True
        rows = list(zip(*(key.cells for key in columns[:keys]), strict=True))
        span = _span([key.width for key in columns[: keys + 1]])
        return not column.right and len(set(rows)) < len(rows) and 3 * span <= 2 * width

    while keys < min(3, len(columns) - 1) and is_key(columns[keys]):
        keys += 1
    leading, blocks = list(columns[:keys]), [list(columns[:keys])]
    for column in columns[keys:]:
        if len(blocks[-1]) > keys and _span([one.width for one in [*blocks[-1], column]]) > width:
            blocks.append(list(leading))
        blocks[-1].append(column)
    return blocks


def _paragraphs(columns: Sequence[TextColumn], below: TextColumn | None, width: int) -> Iterator[tuple[str, str]]:
    """For each row the first cell, the other cells after their headings, and the text below."""
    for number, key in enumerate(columns[0].cells):
        yield "bold", key
        named = ((column.name, column.cells[number]) for column in columns[1:])
        text = "; ".join(f"{name} {cell}" for name, cell in named if cell not in ("", "-"))
        yield from _below(text, width)
        if below:
            yield from _below(below.cells[number], width)


def height(tables: Sequence[Table], lines: Iterable[str] = ()) -> int:
    """Lines of tables with a blank one between two, and of the sentences below, on a small
    terminal.
    """
    from io import StringIO

    from rich.console import Console

    columns = SCREEN[0]
    console = Console(width=columns, file=StringIO())
    laid_out = (narrow(table, columns) or console.render_lines(table) for table in tables)
    below = (max(1, -(-len(line) // columns)) for line in wrapped(lines, columns))
    return max(0, len(tables) - 1) + sum(map(len, laid_out)) + sum(below)


def first_that_fits(
    choices: Iterable[tuple[list[Table], list[str]]], max_lines: int = SCREEN[1] - PROMPT
) -> tuple[list[Table], list[str]]:
    """The first of the choices, tables and the sentences below them, that has at most so many lines
    on a small terminal; else the last one. By default there is room for the prompt.
    """
    for tables, lines in choices:
        if height(tables, lines) <= max_lines:
            break
    return tables, lines
