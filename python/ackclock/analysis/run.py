"""`analyze`: the analysis of one capture, or of two of the same traffic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.analysis.capture_document import CaptureDocument, LiveDocument, QlogDocument
from ackclock.analysis.clocks import Clocks, clocks_of
from ackclock.analysis.filter import PacketFilter, parse_filter
from ackclock.errors import InputError, native_errors
from ackclock.result import Result

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.documents.analyze import CaptureAnalysis
    from ackclock.input.objects import Time
    from ackclock.report.page import Page

PIECE = 1_000_000  # packets between two looks at signals: a fraction of a second
NO_CLOCKS = Clocks()


class Analysis(Result):
    """The result of an analysis.

    `series` (one row per packet) is None unless it was asked for; `delays` (one row per packet,
    between two captures) needs two captures as well. `folder` is the run folder, None if nothing
    was written.

    >>> import ackclock
    >>> analysis = ackclock.analyze("slow.pcap")  # doctest: +SKIP
    >>> analysis.flows.filter(pl.col("b2a_retransmitted_segments") > 0)  # doctest: +SKIP
    """

    def __init__(
        self,
        source: CaptureDocument,
        series: pl.DataFrame | None = None,
        delays: pl.DataFrame | None = None,
        folder: Path | None = None,
    ) -> None:
        self.source = source
        self._series: pl.DataFrame | Path | None = series
        self.delays = delays
        self._folder = folder

    @property
    def series(self) -> pl.DataFrame | None:
        if isinstance(self._series, Path):
            from ackclock.storage.stored_files import read_table

            self._series = read_table(self._series)
        return self._series

    @property
    def has_series(self) -> bool:
        """Whether there is a series, without reading it."""
        return self._series is not None

    def release_series(self, file: Path) -> None:
        """Keep the series in `file` alone, a Parquet file that has it: in memory it takes 130 bytes
        a packet.
        """
        self._series = file

    def packets(self, flows: Iterable[int]) -> pl.DataFrame:
        """The rows of the series of these flows.

        Raises:
            InputError: the analysis has no series.
        """
        import polars as pl

        return self._packets().filter(pl.col("flow").is_in(list(flows))).collect()

    def _packets(self) -> pl.LazyFrame:
        from ackclock.storage.stored_files import scan_table

        if self._series is None:
            raise InputError.problem("this analysis has no series", "pass series=True to analyze")
        return scan_table(self._series) if isinstance(self._series, Path) else self._series.lazy()

    @cached_property
    def document(self) -> CaptureAnalysis:
        """The JSON of `ackclock analyze --json` (docs/reference/analyze.md), made when it is first
        asked for.

        It takes about 90 KB of memory a flow: of a capture with tens of thousands, `flows` has the
        figures in a hundredth of that, and `source.part(numbers)` the document of some.
        """
        return self.source.whole()

    @property
    def folder(self) -> Path | None:
        return self._folder

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow: the JSON's fields, nested names joined by underscores."""
        return self.source.flows_frame()

    def rates(self, step: float = 0.1) -> pl.DataFrame:
        """Throughput and goodput over time, bit/s, in steps of `step` seconds; needs the series.
        docs/reference/analyze.md has the columns (`rates.parquet`).

        Raises:
            InputError: the analysis has no series, or the step is not above zero.
        """
        from ackclock.analysis.frames import rates_frame

        packets = self._packets()
        if not 1e-6 <= step < float("inf"):
            raise InputError(f"{step}", "a step of a microsecond or more, in seconds", key="step")
        return rates_frame(packets, step)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`flows`; `series` and `delays` where they were asked for."""
        known = {"flows": self.flows, "series": self.series, "delays": self.delays}
        return {name: frame for name, frame in known.items() if frame is not None}

    def _page(self) -> Page:
        from ackclock.analysis.report_page import page

        return page(self)

    def _frame_rows(self) -> Mapping[str, int]:
        known = {"series": self.series, "delays": self.delays}
        rows = {name: frame.height for name, frame in known.items() if frame is not None}
        return {"flows": len(self.source.numbers), **rows}

    def _title(self) -> str:
        flows = len(self.source.numbers)
        return f"{self.source.head['capture']}: {flows} flow{'s' * (flows != 1)}"

    def _tables(self) -> list[Table]:
        from ackclock.analysis.terminal_tables import source_tables

        return source_tables(self.source)

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
    since: Time | None = None,
    until: Time | None = None,
    out: str | Path | None = None,
    force: bool = False,
    series: bool = False,
    pps: Sequence[str | Path] = (),
    synchronized: str | float | None = None,
    congestion_control: bool = False,
) -> Analysis:
    """Per-flow metrics and diagnosis of a capture; with a second one of the same traffic, also
    delay and loss between them.

    Args:
        capture: a pcap, pcapng, snoop or ERF file, plain or in gzip or zstd; "-" is standard input.
            A qlog of a QUIC endpoint is analyzed as the sender's capture of its connection.
        second: a capture of the same traffic nearer the other end, for delays in each direction,
            losses between the two, clock offset and buffer.
        flow: only this flow: its number, from 1 in order of appearance, or one of its ends
            ("10.0.0.1:443").
        filter: only flows with such ends, as ``"host 10.0.0.1 and not (port 22 or net
            192.168.0.0/16)"``: `host`, `net`, `port`, `portrange`, joined by `and`, `or`, `not`.
        since: time after the first packet (``"5 s"``, seconds as a number, or a timedelta); earlier
            packets are left out.
        until: time after the first packet; packets from then on are left out.
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
        congestion_control: look for the congestion control of each sender; else only of the 20
            largest directions with 1 MB and more.

    Raises:
        InputError: the capture cannot be read, an argument is bad, or ``out`` holds another run.
    """
    from ackclock.analysis.folder import AnalysisRequest, folder_for, read_folder, write_folder
    from ackclock.input.objects import time_seconds

    if is_qlog(capture):
        refuse_for_qlog({"second": second, "flow": flow, "filter": filter, "since": since, "until": until, "out": out})
        return Analysis(QlogDocument(str(capture)))
    other = None if second is None else str(second)
    clocks = clocks_of(pps, synchronized, 1 if second is None else 2)
    only = PacketFilter(
        parse_filter(filter),
        None if since is None else time_seconds(since, "since"),
        None if until is None else time_seconds(until, "until"),
    )
    reader = open_capture(
        str(capture),
        only,
        other,
        series=series or out is not None,
        clocks=clocks,
        congestion_control=congestion_control,
    )
    captures = (str(capture),) if other is None else (str(capture), other)
    with folder_for(
        out, AnalysisRequest(captures, only, flow, clocks, congestion_control=congestion_control), force=force
    ) as run:
        if run and run.finished:
            return read_folder(run.path)
        with native_errors(file=str(capture)):
            while reader.advance(PIECE) == PIECE:
                pass
        reader.finish()
        done = analysis_of(str(capture), reader, flow, other, run.path if run else None)
        if run:
            write_folder(run, done, keep_series=True)
    return done


def is_qlog(path: str | Path) -> bool:
    """Whether a file is the log of a QUIC endpoint instead of a capture."""
    from ackclock import _native

    return str(path) != "-" and _native.is_qlog(str(path))


def refuse_for_qlog(arguments: Mapping[str, object]) -> None:
    """Refuse the arguments that a qlog has no packets for.

    Raises:
        InputError: one of them has a value.
    """
    given = [name for name, value in arguments.items() if value]
    if given:
        raise InputError.problem(f"a qlog is analyzed as a whole, without {given[0]}", f"leave out {given[0]}")


def open_capture(
    path: str,
    only: PacketFilter,
    second: str | None = None,
    *,
    series: bool = False,
    clocks: Clocks = NO_CLOCKS,
    follow: bool = False,
    congestion_control: bool = False,
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
            own = pulses[0] if pulses else None
            reader: Any = _native.CaptureReader(path, only.as_json(), series, own, follow)
        else:
            pair = (pulses[0], pulses[1]) if pulses else None
            error_ns = None if clocks.error_s is None else clocks.error_s * 1e9
            reader = _native.CapturePairReader(path, second, only.as_json(), series, pair, error_ns)
        if congestion_control:
            reader.examine_all_controls()
        return reader


def analysis_of(
    path: str,
    reader: Any,
    flow: int | str | None = None,
    second: str | None = None,
    folder: Path | None = None,
) -> Analysis:
    """The analysis of the packets read so far, of all flows or of one.

    `folder` is the one that `write_folder` writes it to.
    """
    from ackclock.analysis.frames import delays_frame, series_frame

    source = live_document(path, reader, flow, second)
    series = delays = None
    if (recorded := reader.series()) is not None:
        table, source.head["series_left_out"] = recorded
        delays = None if second is None else delays_frame(reader.delays(), source.numbers)
        series = series_frame(table, source.numbers)
    return Analysis(source, series, delays, folder)


def live_document(path: str, reader: Any, flow: int | str | None = None, second: str | None = None) -> LiveDocument:
    """The document of what has been read so far, of all flows or of one."""
    return LiveDocument(reader, [path] if second is None else [path, second], flow)
