"""The fitted link drawn over what was measured: its rate over the packets that arrived, and the
delay of the captured packets in its queue over the delay that they had.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ackclock.errors import AckclockError
from ackclock.plot.capture import envelope, rate_line
from ackclock.plot.time_axis import stacked
from ackclock.plot.time_series import Line, Panel
from ackclock.report.page import Chart

if TYPE_CHECKING:
    from ackclock.documents.fit import FittedLink

MAX_CAPTURE_BYTES = 256_000_000
"""Captures above this size are not read again for a report."""
MAX_PACKETS = 300_000
"""Maximum packets of a direction that are replayed."""
BINS = 200
MIN_BIN_S = 0.1
_READING = (
    "The captured packets of the direction with more bytes. Above, the rate that arrived, and the fitted rate. Below, "
    "the delay of the packets above their minimum, minimum and maximum of each interval, and the delay that the same "
    "packets, sent at the same times, have in the fitted queue: without its jitter, stalls and AQM. Where the lines "
    "lie apart, the link does something that the fit does not have."
)


def measured_chart(document: FittedLink) -> Chart | None:
    """The chart of a fit's first run; None without two captures, or without a fitted rate."""
    first = {str(one["end"]): Path(one["capture"]) for one in document["inputs"] if one.get("run", 1) == 1}
    if set(first) != {"server", "client"} or not all(path.is_file() for path in first.values()):
        return None
    if sum(path.stat().st_size for path in first.values()) > MAX_CAPTURE_BYTES:
        return None
    from ackclock.analysis import analyze

    try:
        found = analyze(first["server"], first["client"], series=True)
    except AckclockError:
        return None
    if found.series is None or found.delays is None or found.series.is_empty():
        return None
    rows = found.series
    sizes = {
        data_direction: int(rows.filter(pl.col("way") == data_direction)["ip_bytes"].sum())
        for data_direction in ("a2b", "b2a")
    }
    data_direction = max(sizes, key=lambda one: sizes[one])
    # a is the client; capture 1 is the server's.
    direction, sender = ("down", 1) if data_direction == "b2a" else ("up", 2)
    rate = _value(document, f".rate.{direction}", ".rate")
    if not rate:
        return None
    own = rows.filter(pl.col("way") == data_direction).sort("time_s")
    sent, received = own.filter(pl.col("capture") == sender), own.filter(pl.col("capture") != sender)
    if sent.is_empty() or received.is_empty():
        return None
    delays = found.delays.filter(pl.col("way") == data_direction).drop_nulls("delay_ms")
    end = float(own["time_s"].max() or 0.0)  # type: ignore[arg-type]
    replayed = list(replay(sent.head(MAX_PACKETS), rate, _value(document, f".queue.{direction}.bytes", ".queue.bytes")))
    fitted = pl.DataFrame(replayed, schema={"time_s": pl.Float64, "delay_ms": pl.Float64}, orient="row")
    queues = [_above(name, frame) for name, frame in (("measured", delays), ("fitted", fitted)) if not frame.is_empty()]
    panels = [
        Panel(
            "rate",
            f"Rate {direction}",
            "Mb/s",
            "",
            (
                rate_line("measured", received, "ip_bytes", max(MIN_BIN_S, end / BINS), end),
                Line("fitted", [0.0, end], [rate / 1e6] * 2),
            ),
        ),
        Panel("delay", f"Queueing delay {direction}", "ms", "", tuple(queues)),
    ]
    return Chart(f"The fitted link over the captured packets, {direction}", _READING, stacked(panels, (), end))


def replay(sent: pl.DataFrame, rate_bps: float, limit_bytes: float | None) -> Iterator[tuple[float, float]]:
    """The time (s) of each packet and its delay (ms) in a droptail queue of ``limit_bytes`` before
    a link of ``rate_bps``; packets that find no room are left out. ``sent`` has ``time_s`` and
    ``ip_bytes`` in order of time.
    """
    free_at = 0.0
    for at, size in sent.select("time_s", "ip_bytes").iter_rows():
        waiting = max(0.0, free_at - at) * rate_bps / 8
        if limit_bytes is not None and waiting + size > limit_bytes:
            continue
        free_at = max(free_at, at) + size * 8 / rate_bps
        yield at, 1e3 * (free_at - at)


def _value(document: FittedLink, *ends: str) -> float | None:
    """The value of the first parameter whose path ends so; None without a value."""
    for end in ends:
        for row in document["parameters"]:
            if row["path"].endswith(end) and row["value"] is not None:
                return float(row["value"])
    return None


def _above(name: str, frame: pl.DataFrame) -> Line:
    return envelope(name, frame.with_columns(pl.col("delay_ms") - pl.col("delay_ms").min()), "delay_ms", 1.0)
