"""A measurement that has been made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import RunFailed
from ackclock.measurement.plan import Plan

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Measurement:
    """What a path showed. ``document`` is the JSON of ``ackclock measure --json``; docs/measure.md says what each field means.

    ``series`` has a row for each look at a TCP connection, ``delays`` one for each datagram (null: lost), ``probes``
    one for each probe of the test ``path`` (None if it was not run). ``folder`` is where it was kept.
    """

    document: dict[str, Any]
    plan: Plan
    series: pl.DataFrame
    delays: pl.DataFrame
    probes: pl.DataFrame | None = None
    folder: Path | None = None

    @property
    def flows(self) -> pl.DataFrame:
        """One row per TCP connection: the document's fields, nested names joined by underscores."""
        from ackclock.simulation.run_files import flows_frame

        return flows_frame([{"seed": 0, "flows": self.document["flows"]}])

    def as_json(self) -> dict[str, Any]:
        """The document."""
        return self.document

    def report(self, path: str | Path) -> Path:
        """Write the HTML report, one file that opens without a network; returns its path.

        Raises:
            ImportError: altair or vl-convert is not installed.
        """
        from ackclock.report.measurement import page
        from ackclock.report.render import html
        from ackclock.storage.atomic_files import atomic_write

        target = Path(path)
        atomic_write(target, html(page(self)).encode())
        return target


class MeasurementFailed(RunFailed):
    """A test failed after others were finished. ``measurement`` has these; its document says which failed and why (``failed``) and which of the
    plan are not there (``unfinished``).
    """

    def __init__(self, measurement: Measurement) -> None:
        failed = measurement.document["failed"]
        kept = f"; what was finished is in {measurement.folder}" if measurement.folder else ""
        super().__init__(f"{failed['test']} ({failed['label']}): {failed['why']}{kept}")
        self.measurement = measurement
