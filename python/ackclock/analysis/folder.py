"""The run folder of `analyze --out`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.analysis.clocks import Clocks
from ackclock.analysis.filter import PacketFilter
from ackclock.storage import run_kind
from ackclock.storage.atomic_files import atomic_file, atomic_write, write_parquet
from ackclock.storage.run_folder import Identity, RunFolder
from ackclock.storage.stored_files import read_table

if TYPE_CHECKING:
    from ackclock.analysis.run import Analysis

DOCUMENT = run_kind.ANALYZE.document
FLOWS, SERIES = "flows.parquet", "series.parquet"


@dataclass(frozen=True)
class AnalysisRequest:
    """The captures of an analysis and its options."""

    captures: tuple[str, ...]
    packet_filter: PacketFilter
    flow: int | str | None
    clocks: Clocks
    follow: bool = False
    congestion_control: bool = False

    @property
    def identity(self) -> Identity:
        """Identity by the captures' contents.

        A stream or a growing file has none before it is read: its analysis is not repeatable.
        """
        once = self.follow or not all(Path(capture).is_file() for capture in self.captures)
        contents = [] if once else [_digest(Path(capture)) for capture in self.captures]
        options = [
            self.packet_filter.as_json(),
            None if self.flow is None else str(self.flow),
            self.clocks.texts(),
            self.clocks.error_s,
            *(["congestion_control"] if self.congestion_control else []),
        ]
        return Identity.of("analyze", [contents, options], once=once)


def folder_for(
    out: str | Path | None, request: AnalysisRequest, *, force: bool
) -> AbstractContextManager[RunFolder | None]:
    """The run folder of an analysis as a context manager; an empty context without an output
    folder.
    """
    return nullcontext() if out is None else RunFolder(out, request.identity, force=force)


def write_folder(run: RunFolder, analysis: Analysis, *, keep_series: bool = False) -> None:
    """Write the tables, the xplot graphs and the document of an analysis of packets. The series is
    read from its file again where it is needed, or stays in memory with `keep_series`.
    """
    from ackclock.analysis.capture_document import LiveDocument

    assert isinstance(analysis.source, LiveDocument)
    if analysis.series is not None:
        write_parquet(run.path / SERIES, analysis.series)
        if not keep_series:
            analysis.release_series(run.path / SERIES)
        write_parquet(run.path / "rates.parquet", analysis.rates())
    if analysis.delays is not None:
        write_parquet(run.path / "delays.parquet", analysis.delays)
    # The document has its name last, when every file that it names exists. The graphs follow its
    # text, which diagnoses all flows: they need the summary.
    with atomic_file(run.path / DOCUMENT) as file:
        flows = analysis.source.write(file)
        file.write(b"\n")
        atomic_write(run.path / FLOWS, flows)
        if analysis.has_series:
            analysis.xplot(run.path / "xplot")
    run.finish()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def read_folder(folder: Path) -> Analysis:
    """Read an analysis that `write_folder` wrote."""
    from ackclock.analysis.capture_document import StoredDocument
    from ackclock.analysis.run import Analysis

    frames = {}
    for name in ("series", "delays"):
        path = folder / f"{name}.parquet"
        frames[name] = read_table(path) if path.is_file() else None
    source = StoredDocument(folder / DOCUMENT, folder / FLOWS)
    return Analysis(source, frames["series"], frames["delays"], folder)
