"""The result of `diff`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.result import Result

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.documents.diff import RunDifference
    from ackclock.report.page import Page


@dataclass(frozen=True, repr=False)
class Diff(Result):
    """The figures of two runs of a kind, or of two captures, side by side.

    `document` is the JSON of ``ackclock diff --json`` (docs/reference/diff.md).

    >>> import ackclock
    >>> found = ackclock.diff("before.pcap", "after.pcap")  # doctest: +SKIP
    >>> found.metrics.filter("differs")  # doctest: +SKIP
    """

    document: RunDifference

    @property
    def folder(self) -> Path | None:
        """None: a difference reads run folders and writes none."""
        return None

    @property
    def metrics(self) -> pl.DataFrame:
        """One row for each figure: metric, where, a, b, difference, lo, hi, differs, p, n_a, n_b,
        method; in the unit of the metric's name.
        """
        import polars as pl

        floats = ("a", "b", "difference", "lo", "hi", "p")
        return pl.DataFrame(
            self.document["metrics"],
            schema_overrides=dict.fromkeys(floats, pl.Float64) | {"differs": pl.Boolean},
            infer_schema_length=None,
        )

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`metrics`."""
        return {"metrics": self.metrics}

    def _page(self) -> Page:
        from ackclock.difference.tables import page

        return page(self.document)

    def _title(self) -> str:
        return f"{self.document['a']} and {self.document['b']}"

    def _tables(self) -> Iterable[Table]:
        from ackclock.difference.tables import tables

        return tables(self.document)
