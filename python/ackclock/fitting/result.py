"""The result of a fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.input.objects import Link
from ackclock.result import Result

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.documents.fit import FittedLink
    from ackclock.report.page import Page


@dataclass(frozen=True, repr=False)
class Fit(Result):
    """A link fitted to captures.

    `document` is the JSON of ``ackclock fit --json`` (docs/reference/fit.md); `link` the link,
    `text` its file with the [fit] table, `draws` the joint draws of the identified parameters (a
    column for each path). `path` is the link file if one was written.

    >>> import ackclock
    >>> fitted = ackclock.fit("server.pcapng", "client.pcapng")  # doctest: +SKIP
    >>> ackclock.compare(fitted.link)  # doctest: +SKIP
    """

    document: FittedLink
    link: Link
    text: str
    draws: pl.DataFrame
    path: Path | None = None

    @property
    def folder(self) -> Path | None:
        """None: a fit writes files, and no run folder."""
        return None

    @property
    def parameters(self) -> pl.DataFrame:
        """One row for each parameter: path, value, unit, interval, status, method, evidence."""
        import polars as pl

        texts = ("path", "value", "unit", "lo", "hi", "status", "method", "evidence", "kind")
        kinds = dict.fromkeys(texts, pl.String)
        return pl.DataFrame(
            [{"kind": None, **row} for row in self.document["parameters"]],
            schema=kinds | dict.fromkeys(("value", "lo", "hi"), pl.Float64),
            orient="row",
        )

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`parameters` and `draws`."""
        return {"parameters": self.parameters, "draws": self.draws}

    def _page(self) -> Page:
        from ackclock.fitting.report_page import page

        return page(self.document, self.text)

    def _title(self) -> str:
        return self.document["title"]

    def _tables(self) -> Iterable[Table]:
        from ackclock.fitting.terminal_tables import parameters_table

        return [parameters_table(self.document)]
