"""The shape that all results have: a document, frames, plots, a report, and a summary for a
notebook or a prompt.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars as pl
    from rich.table import Table

    from ackclock.plot.figure import Plot
    from ackclock.report.page import Page

REPORT = "report.html"
"""The report's name in a run folder."""
MAX_LINES = 12
"""Lines of a result's `repr`."""
WIDTH = 140
"""Columns of a result's `repr`."""
SENTENCE = 40
"""Columns of a sentence in it; a notebook shows the whole."""


class Result(ABC):
    """Base of every result. `document` is what the command prints with `--json`; `folder` is the
    run folder, None if nothing was written.

    A result shows itself: `repr` is its tables in at most 12 lines, in a notebook it is the whole
    tables.

    >>> import ackclock
    >>> run = ackclock.simulate("dsl-16m", [{"workload": {"kind": "bulk"}}], duration="2 s")
    >>> sorted(run.frames)
    ['flows', 'hops', 'series']
    >>> run.to_json()[:15]
    '{"scenario": "d'
    """

    if TYPE_CHECKING:

        @property
        def document(self) -> Mapping[str, Any]: ...

        @property
        def folder(self) -> Path | None: ...

    @property
    @abstractmethod
    def frames(self) -> dict[str, pl.DataFrame]:
        """Its tables by name, as Polars frames; those that this run has."""

    def to_pandas(self) -> dict[str, pandas.DataFrame]:
        """Its tables by name, as pandas frames. They need pandas, and no pyarrow, which
        `.to_pandas()` of a Polars frame needs. A missing number is NaN, so that a column of
        integers with one is a column of floats.

        Raises:
            ImportError: pandas is not installed.

        >>> import ackclock
        >>> run = ackclock.simulate("dsl-16m", [{"workload": {"kind": "bulk"}}], duration="2 s")
        >>> run.to_pandas()["flows"].loc[0, "variant"] # doctest: +SKIP
        'cubic'
        """
        import pandas

        def values(column: pl.Series) -> Any:
            return column.to_numpy() if column.dtype.is_numeric() else column.to_list()

        return {
            name: pandas.DataFrame({column.name: values(column) for column in frame})
            for name, frame in self.frames.items()
        }

    def to_json(self, path: Path | str | None = None) -> str:
        """The document as JSON text, also written to `path` if one is given."""
        text = json.dumps(self.document)
        if path is not None:
            from ackclock.storage.atomic_files import atomic_write

            atomic_write(Path(path), text.encode())
        return text

    def plot(self) -> Plot:
        """Its charts over time. The plot shows itself in a notebook; `.save("run.svg")` writes SVG,
        PDF or PNG.

        Raises:
            ValueError: this run has nothing to draw.
            ImportError: the extra `plot` is not installed.
        """
        from ackclock.plot.figure import Plot
        from ackclock.report.page import Chart

        blocks = (block for section in self._page().sections for block in section.blocks)
        return Plot([block.spec for block in blocks if isinstance(block, Chart)], self._title())

    def report(self, path: Path | str | None = None) -> Path:
        """Write the HTML report, one file that opens without a network, to `path` or into the run
        folder; return its path.

        Raises:
            ValueError: there is neither a path nor a run folder.
            ImportError: the extra `report` is not installed.
        """
        from ackclock.report.render import html
        from ackclock.storage.atomic_files import atomic_write

        if path is None and self.folder is None:
            raise ValueError("this result has no run folder; pass a path, or out= to the call that makes it")
        target = Path(path) if path is not None else Path(self.folder or ".") / REPORT
        atomic_write(target, html(self._page()).encode())
        return target

    @abstractmethod
    def _page(self) -> Page:
        """The report's content."""

    @abstractmethod
    def _title(self) -> str:
        """One line: what this is."""

    @abstractmethod
    def _tables(self) -> Iterable[Table]:
        """The tables that the command prints."""

    def tables(self) -> list[Table]:
        """The tables that the command prints, as tables of rich."""
        return list(self._tables())

    def screen(self) -> tuple[list[Table], list[str]]:
        """What the command prints without `--all`: tables, and the sentences below them, which fit
        80 columns and 24 lines where the command has such a form.
        """
        return self.tables(), []

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__}: {self._title()}"]
        tables = list(self._tables())
        lines += [line for table in tables for line in _as_text(table, MAX_LINES) if line]
        total = len(lines) + sum(max(0, table.row_count - MAX_LINES) for table in tables)
        if total > MAX_LINES:
            frames = ", ".join(f"{name} ({rows} row{'s' * (rows != 1)})" for name, rows in self._frame_rows().items())
            lines[MAX_LINES - 1 :] = [f"... {total - MAX_LINES + 1} more lines; frames: {frames}"]
        return "\n".join(lines)

    def _frame_rows(self) -> Mapping[str, int]:
        """The number of rows of each of `frames`."""
        return {name: frame.height for name, frame in self.frames.items()}

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p><b>{type(self).__name__}</b>: {escape(self._title())}</p>" + "".join(map(_as_html, self._tables()))


def _as_text(table: Table, rows: int) -> list[str]:
    """The title, the headings and the first rows of a table, a line each.

    rich needs 1 ms to lay out a row; these tables need no colours and no wrapping.
    """
    from ackclock.terminal import columns_of, grid

    columns = columns_of(table, rows)
    for column in columns:
        if column.wraps:
            column.cells = [_cut(cell, SENTENCE) for cell in column.cells]
    head, body = grid(columns)
    return [str(table.title or ""), *(_cut(line, WIDTH) for line in (*head, *body))]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _as_html(table: Table) -> str:
    """A terminal's table as an HTML table."""
    from html import escape

    from ackclock.terminal import plain

    def cell(tag: str, content: Any, justify: str) -> str:
        return f'<{tag} style="text-align: {justify}">{escape(plain(content))}</{tag}>'

    justify = [column.justify if column.justify in ("right", "center") else "left" for column in table.columns]
    head = "".join(cell("th", column.header, side) for column, side in zip(table.columns, justify, strict=True))
    rows = zip(*(list(column.cells) for column in table.columns), strict=True)
    body = "".join(
        f"<tr>{''.join(cell('td', c, side) for c, side in zip(row, justify, strict=True))}</tr>" for row in rows
    )
    caption = f"<caption>{escape(str(table.title))}</caption>" if table.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
