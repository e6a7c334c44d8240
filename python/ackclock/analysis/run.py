"""`analyze`: the analysis of one capture, or of two of the same traffic."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.analysis.clocks import Clocks, clocks_of
from ackclock.analysis.diagnosis import diagnose
from ackclock.analysis.filter import PacketFilter, parse_filter
from ackclock.errors import InputError, native_errors
from ackclock.result import Result

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.report.page import Page

PIECE = 1_000_000  # packets between two looks at signals: a fraction of a second
NO_CLOCKS = Clocks()


@dataclass(frozen=True, repr=False)
class Analysis(Result):
    """The result of an analysis. `document` is the JSON of `ackclock analyze --json`
    (docs/analyze.md).

    `series` (one row per packet) is None unless it was asked for; `delays` (one row per packet,
    between two captures) needs two captures as well.
    """

    document: dict[str, Any]
    series: pl.DataFrame | None = None
    delays: pl.DataFrame | None = None
    folder: Path | None = None

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow: the JSON's fields, nested names joined by underscores."""
        from ackclock.analysis.frames import flows_frame

        return flows_frame(self.document)

    def rates(self, step: float = 0.1) -> pl.DataFrame:
        """Throughput and goodput over time, bit/s, in steps of `step` seconds; needs the series.
        docs/analyze.md has the columns (`rates.parquet`).

        Raises:
            InputError: the analysis has no series, or the step is not above zero.
        """
        from ackclock.analysis.frames import rates_frame

        if self.series is None:
            raise InputError.problem("this analysis has no series", "pass series=True to analyze")
        if not 1e-6 <= step < float("inf"):
            raise InputError(f"{step}", "a step of a microsecond or more, in seconds", key="step")
        return rates_frame(self.series, step)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`flows`; `series` and `delays` where they were asked for."""
        known = {"flows": self.flows, "series": self.series, "delays": self.delays}
        return {name: frame for name, frame in known.items() if frame is not None}

    def _page(self) -> Page:
        from ackclock.analysis.report_page import page

        return page(self)

    def _title(self) -> str:
        flows = len(self.document["flows"])
        return f"{self.document['capture']}: {flows} flow{'s' * (flows != 1)}"

    def _tables(self) -> list[Table]:
        from ackclock.analysis.terminal_tables import analysis_tables

        return analysis_tables(self.document)

    def xplot(self, folder: str | Path) -> list[Path]:
        """Write time-sequence, RTT and outstanding-data graphs of the largest flows for xplot;
        needs the series. Returns the files.
        """
        from ackclock.analysis.xplot import write_xplot

        return write_xplot(self, Path(folder))


def analyze(
    capture: str | Path,
    second: str | Path | None = None,
    *,
    flow: int | str | None = None,
    filter: str | None = None,
    since: float | None = None,
    until: float | None = None,
    out: str | Path | None = None,
    force: bool = False,
    series: bool = False,
    pps: Sequence[str | Path] = (),
    synchronized: str | float | None = None,
) -> Analysis:
    """Per-flow metrics and diagnosis of a capture; with a second one of the same traffic, also
    delay and loss between them.

    Args:
        capture: a pcap or pcapng file, plain or in gzip or zstd; "-" is standard input.
        second: a capture of the same traffic nearer the other end, for delays in each direction,
            losses between the two, clock offset and buffer.
        flow: only this flow: its number, from 1 in order of appearance, or one of its ends
            ("10.0.0.1:443").
        filter: only flows with such ends, as ``"host 10.0.0.1 and not (port 22 or net
            192.168.0.0/16)"``: `host`, `net`, `port`, `portrange`, joined by `and`, `or`, `not`.
        since: seconds from the first packet; what comes before is left out.
        until: seconds from the first packet; what comes then or later is left out.
        out: a folder for the document, Parquet tables, the HTML report and xplot graphs; nothing is
            written without it.
        force: move another run that is in ``out`` aside (to ``out.1``) instead of refusing to write
            there.
        series: keep a row for each packet (about 90 bytes; the first 2 million): `Analysis.series`,
            `Analysis.delays`. Implied by `out`.
        pps: for each capture a file with its counter's values at PPS pulses, by which its
            timestamps are converted to UTC.
        synchronized: both captures' clocks are right within this (seconds, or such as ``100 us``):
            delays are absolute then.

    Raises:
        InputError: the capture cannot be read, an argument is bad, or ``out`` holds another run.
    """
    from ackclock.analysis.folder import AnalysisRequest, folder_for, read_folder, write_folder

    other = None if second is None else str(second)
    clocks = clocks_of(pps, synchronized, 1 if second is None else 2)
    only = PacketFilter(parse_filter(filter), since, until)
    reader = open_capture(str(capture), only, other, series=series or out is not None, clocks=clocks)
    captures = (str(capture),) if other is None else (str(capture), other)
    with folder_for(out, AnalysisRequest(captures, only, flow, clocks), force=force) as run:
        if run and run.finished:
            return read_folder(run.path)
        with native_errors(file=str(capture)):
            while reader.advance(PIECE) == PIECE:
                pass
        reader.finish()
        done = analysis_of(str(capture), reader, flow, other)
        if run:
            done = replace(done, folder=run.path)
            write_folder(run, done)
    return done


def open_capture(
    path: str,
    only: PacketFilter,
    second: str | None = None,
    *,
    series: bool = False,
    clocks: Clocks = NO_CLOCKS,
    follow: bool = False,
) -> Any:
    """The engine's reader of one capture or of two; with `series`, it keeps a row for each packet.

    With `follow` the one capture is still being written: its header is waited for.
    """
    from ackclock import _native

    pulses = clocks.texts()
    if path == second == "-":
        raise InputError.problem(
            "standard input cannot be both captures", "name a file for one of them", option="CAPTURE2"
        )
    with native_errors(file=path):
        if second is None:
            return _native.CaptureReader(path, only.as_json(), series, pulses[0] if pulses else None, follow)
        pair = (pulses[0], pulses[1]) if pulses else None
        error_ns = None if clocks.error_s is None else clocks.error_s * 1e9
        return _native.CapturePairReader(path, second, only.as_json(), series, pair, error_ns)


def analysis_of(path: str, reader: Any, flow: int | str | None = None, second: str | None = None) -> Analysis:
    """The analysis of the packets read so far, of all flows or of one."""
    from ackclock.analysis.frames import delays_frame, series_frame

    document = document_of(path, reader, flow, second)
    numbers = [row["flow"] for row in document["flows"]]
    recorded = reader.series()
    if recorded is None:
        return Analysis(document)
    table, document["series_left_out"] = recorded
    return Analysis(
        document, series_frame(table, numbers), None if second is None else delays_frame(reader.delays(), numbers)
    )


def document_of(path: str, reader: Any, flow: int | str | None = None, second: str | None = None) -> dict[str, Any]:
    """The document of what has been read so far, of all flows or one."""
    document = {"capture": path, **json.loads(reader.report())}
    if second is not None:
        document["second"] = {"capture": second, **document["second"]}
    numbered = [{"flow": number, **row} for number, row in enumerate(document["flows"], 1)]
    if flow is not None:
        wanted = str(flow)
        kept = [row for row in numbered if wanted in (str(row["flow"]), row["client"], row["server"])]
        if not kept:
            allowed = (
                f"a number from 1 to {len(numbered)}, or an end as ADDRESS:PORT"
                if numbered
                else "nothing: no flows here"
            )
            raise InputError(f'"{wanted}"', allowed, file=path, option="--flow")
        numbered = kept
    document["flows"] = numbered
    diagnose(document)
    return document
