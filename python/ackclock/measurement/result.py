"""The result of a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import RunFailed
from ackclock.measurement.plan import Plan
from ackclock.result import Result

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.documents.measure import Measurement as MeasurementDocument
    from ackclock.report.page import Page


@dataclass(frozen=True, repr=False)
class Measurement(Result):
    """The result of a measurement. ``document`` is the JSON of ``ackclock measure --json``
    (docs/reference/measure.md).

    ``series`` has a row for each sample of a TCP connection, ``delays`` one for each datagram
    (null: lost), ``probes`` one for each probe of the test ``path`` (None without it). ``folder``
    is the run folder, None without one.
    """

    document: MeasurementDocument
    plan: Plan
    series: pl.DataFrame
    delays: pl.DataFrame
    probes: pl.DataFrame | None = None
    folder: Path | None = None

    @property
    def flows(self) -> pl.DataFrame:
        """One row for each TCP connection: the document's fields, nested names joined by
        underscores.
        """
        from ackclock.simulation.run_files import flows_frame

        return flows_frame([{"seed": 0, "flows": self.document["flows"]}])

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`flows`, `series`, `delays`; `probes` where the test ``path`` was run."""
        probes = {} if self.probes is None else {"probes": self.probes}
        return {"flows": self.flows, "series": self.series, "delays": self.delays, **probes}

    def _page(self) -> Page:
        from ackclock.measurement.report_page import page

        return page(self)

    def _title(self) -> str:
        return f"the path to {self.document.get('host', '')}".rstrip()

    def _tables(self) -> list[Table]:
        from ackclock.measurement.terminal_tables import measurement_tables

        return measurement_tables(self.document)

    def screen(self) -> tuple[list[Table], list[str]]:
        from ackclock.measurement.terminal_tables import screen_lines, screen_tables

        return screen_tables(self.document), screen_lines(self.document)


class MeasurementFailed(RunFailed):
    """A test failed after others had finished. ``measurement`` has their results; its document has
    the reason (``failed``) and the missing tests of the plan (``unfinished``).
    """

    def __init__(self, measurement: Measurement) -> None:
        failed = measurement.document["failed"]
        assert failed is not None
        kept = f"; finished tests are in {measurement.folder}" if measurement.folder else ""
        super().__init__(f"{failed['test']} ({failed['label']}): {failed['why']}{kept}")
        self.measurement = measurement
