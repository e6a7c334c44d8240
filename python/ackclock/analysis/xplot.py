"""Graphs for xplot: a text of drawing commands, `timeval unsigned`, as tcptrace writes them (<http://www.xplot.org>)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import InputError
from ackclock.storage.atomic_files import atomic_write

if TYPE_CHECKING:
    import polars as pl

    from ackclock.analysis.run import Analysis

MOST_FLOWS = 16
"""Directions written, the largest; each packet is some lines."""
_AGAIN = {
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


def write_xplot(done: Analysis, folder: Path) -> list[Path]:
    """Time sequence, RTT and outstanding data of the largest directions: `flow1-a2b.tsg.xpl`, `.rtt.xpl`, `.owin.xpl`."""
    import polars as pl

    from ackclock.analysis.diagnosis.flow_context import flow_context

    if done.series is None:
        raise InputError.problem("this analysis has no series", "pass series=True to analyze")
    ways = [(flow, way) for flow in done.document["flows"] for way in ("a2b", "b2a") if flow[way]["segments"] > 1]
    ways = sorted(ways, key=lambda pair: -int(pair[0][pair[1]]["unique_bytes"]))[:MOST_FLOWS]
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for flow, way in ways:
        seen = flow_context(done.document, flow, way)
        chosen = (pl.col("flow") == flow["flow"]) & (pl.col("capture") == seen.crossing.get("sender_side_capture", 1))
        packets = done.series.filter(chosen)
        sent, back = packets.filter(pl.col("way") == way), packets.filter(pl.col("way") != way)
        start = float(done.document["start_s"] or 0.0)
        ends = [flow["client"], flow["server"]] if way == "a2b" else [flow["server"], flow["client"]]
        for kind, title, y, lines in (
            ("tsg", "time sequence graph", "sequence number", _time_sequence(sent, back, start)),
            ("rtt", "round trip time samples", "rtt (ms)", _dots(back, "rtt_ms", start)),
            ("owin", "outstanding data", "outstanding (bytes)", _dots(sent, "outstanding_bytes", start)),
        ):
            path = folder / f"flow{flow['flow']}-{way}.{kind}.xpl"
            head = ["timeval unsigned", "title", f"{ends[0]}_==>_{ends[1]} ({title})", "xlabel", "time", "ylabel", y]
            atomic_write(path, "\n".join([*head, *lines, "go", ""]).encode())
            written.append(path)
    return written


def _at(start: float, time_s: float) -> str:
    micros = round(start * 1e6) + round(time_s * 1e6)
    return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"


def _time_sequence(sent: pl.DataFrame, back: pl.DataFrame, start: float) -> Iterator[str]:
    for time_s, seq, length, kind in sent.select("time_s", "seq", "payload_bytes", "kind").iter_rows():
        if not length and kind not in ("syn", "handshake"):
            continue
        at, low, high = _at(start, time_s), max(0, seq), max(0, seq + length)
        colour = "white" if kind not in _AGAIN else "red"
        yield from (colour, f"darrow {at} {low}", f"uarrow {at} {high}", f"line {at} {low} {at} {high}")
        if kind in _AGAIN:
            yield from (f"atext {at} {high}", _AGAIN[kind])
    before: tuple[str, int, int] | None = None
    rows = back.filter(back["ack"].is_not_null() & (back["kind"] != "reset"))
    for time_s, ack, window, edges in rows.select("time_s", "ack", "window_bytes", "sack").iter_rows():
        at, ack = _at(start, time_s), max(0, ack)
        if before is not None:
            last, old, edge = before
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
        before = (at, ack, ack + window)


def _dots(frame: pl.DataFrame, column: str, start: float) -> Iterator[str]:
    yield "white"
    for time_s, value in frame.select("time_s", column).drop_nulls().iter_rows():
        yield f"dot {_at(start, time_s)} {value:.3f}" if isinstance(value, float) else f"dot {_at(start, time_s)} {value}"
