"""xplot graphs: text with drawing commands, `timeval unsigned`, in tcptrace's format
(<http://www.xplot.org>).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import InputError
from ackclock.storage.atomic_files import atomic_write

if TYPE_CHECKING:
    import polars as pl

    from ackclock.analysis.run import Analysis

MAX_FLOWS = 16
"""Maximum number of directions, the largest ones; a packet takes several lines."""
CONSIDERED = 64
"""Flows among whose directions the largest are searched."""
_LABELS = {
    "fast": "R",
    "rack": "R",
    "timeout": "RTO",
    "go_back_n": "GBN",
    "tail_probe": "TLP",
    "handshake": "SYN",
    "unexplained": "R",
    "reordered": "O",
    "network_duplicate": "DUP",
    "zero_window_probe": "P",
    "keep_alive": "KA",
}


def write_xplot(analysis: Analysis, folder: Path) -> list[Path]:
    """Write time-sequence, RTT and outstanding-data graphs of the largest directions:
    `flow1-a2b.tsg.xpl`, `.rtt.xpl`, `.owin.xpl`.
    """
    import polars as pl

    from ackclock.analysis.direction_view import SIDES, DirectionViews

    if not analysis.has_series:
        raise InputError.problem("this analysis has no series", "pass series=True to analyze")
    document = analysis.source.part(analysis.source.largest(CONSIDERED))
    directions = [
        (flow, direction) for flow in document["flows"] for direction in SIDES if flow[direction]["segments"] > 1
    ]
    directions = sorted(directions, key=lambda pair: -pair[0][pair[1]]["unique_bytes"])[:MAX_FLOWS]
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    views = DirectionViews(document)
    series = analysis.packets({flow["flow"] for flow, _ in directions})
    for flow, direction in directions:
        view = views.of(flow, direction)
        selected = (pl.col("flow") == flow["flow"]) & (pl.col("capture") == view.capture)
        packets = series.filter(selected)
        sent, acks = packets.filter(pl.col("way") == direction), packets.filter(pl.col("way") != direction)
        start = float(document["start_s"] or 0.0)
        ends = [flow["client"], flow["server"]] if direction == "a2b" else [flow["server"], flow["client"]]
        for kind, title, y, lines in (
            ("tsg", "time sequence graph", "sequence number", _time_sequence(sent, acks, start)),
            ("rtt", "round trip time samples", "rtt (ms)", _dots(acks, "rtt_ms", start)),
            ("owin", "outstanding data", "outstanding (bytes)", _dots(sent, "outstanding_bytes", start)),
        ):
            path = folder / f"flow{flow['flow']}-{direction}.{kind}.xpl"
            head = ["timeval unsigned", "title", f"{ends[0]}_==>_{ends[1]} ({title})", "xlabel", "time", "ylabel", y]
            atomic_write(path, "\n".join([*head, *lines, "go", ""]).encode())
            written.append(path)
    return written


def _at(start: float, time_s: float) -> str:
    micros = round(start * 1e6) + round(time_s * 1e6)
    return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"


def _time_sequence(sent: pl.DataFrame, acks: pl.DataFrame, start: float) -> Iterator[str]:
    for time_s, seq, length, kind in sent.select("time_s", "seq", "payload_bytes", "kind").iter_rows():
        if not length and kind not in ("syn", "handshake"):
            continue
        at, low, high = _at(start, time_s), max(0, seq), max(0, seq + length)
        colour = "white" if kind not in _LABELS else "red"
        yield from (colour, f"darrow {at} {low}", f"uarrow {at} {high}", f"line {at} {low} {at} {high}")
        if kind in _LABELS:
            yield from (f"atext {at} {high}", _LABELS[kind])
    previous: tuple[str, int, int] | None = None
    rows = acks.filter(acks["ack"].is_not_null() & (acks["kind"] != "reset"))
    for time_s, ack, window, edges in rows.select("time_s", "ack", "window_bytes", "sack").iter_rows():
        at, ack = _at(start, time_s), max(0, ack)
        if previous is not None:
            last, old, edge = previous
            yield from (
                "green",
                f"line {last} {old} {at} {old}",
                f"line {at} {old} {at} {ack}" if ack != old else f"dtick {at} {ack}",
            )
            yield from ("yellow", f"line {last} {edge} {at} {edge}", f"line {at} {edge} {at} {ack + window}")
        if edges:
            yield from (
                "purple",
                *(f"line {at} {max(0, a)} {at} {max(0, b)}" for a, b in zip(edges[::2], edges[1::2], strict=True)),
            )
        previous = (at, ack, ack + window)


def _dots(frame: pl.DataFrame, column: str, start: float) -> Iterator[str]:
    yield "white"
    for time_s, value in frame.select("time_s", column).drop_nulls().iter_rows():
        yield (
            f"dot {_at(start, time_s)} {value:.3f}" if isinstance(value, float) else f"dot {_at(start, time_s)} {value}"
        )
