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
    from ackclock.analysis.capture_document import LiveDocument
    from ackclock.analysis.run import Analysis

DOCUMENT = run_kind.ANALYZE.document
FLOWS = "flows.parquet"


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


def write_flows(folder: Path, source: LiveDocument) -> None:
    """Write the table of flows, which is not kept."""
    atomic_write(folder / FLOWS, source.flows_parquet())


def write_folder(run: RunFolder, analysis: Analysis) -> None:
    """Write the other tables, the xplot graphs and the document, after `write_flows`."""
    for name, frame in (("series", analysis.series), ("delays", analysis.delays)):
        if frame is not None:
            write_parquet(run.path / f"{name}.parquet", frame)
    if analysis.series is not None:
        write_parquet(run.path / "rates.parquet", analysis.rates())
    # It has its name last, when every file that it names exists. The graphs follow its text, which
    # diagnoses all flows: they need the summary.
    with atomic_file(run.path / DOCUMENT) as file:
        for text in analysis.source.json_text():
            file.write(text)
        file.write(b"\n")
        if analysis.series is not None:
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
