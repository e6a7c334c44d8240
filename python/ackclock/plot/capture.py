"""Panels of a captured direction over time: RTT, outstanding data, rate, delay between captures,
loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from ackclock.plot.time_series import Line, Panel

BINS = 240
"""Each bin has its minimum and maximum, so that no peak is lost."""
RATE_BINS = 120
GAP_S = 1.0
"""A live path's line has a break where this time has no packet."""
_LOSS_BIN_S = 0.1
MAX_LOSS_BINS = 1200
_READING = {
    "rtt": (
        "Time from a segment at the capture to its ACK; minimum and maximum of each bin. The "
        "lowest RTT is the path without queues; the rest is queueing delay or a delayed ACK. Dots "
        "are samples; a line without dots spans a time without samples."
    ),
    "outstanding": (
        "Bytes sent and neither acknowledged nor SACKed: the used part of the congestion window. A "
        "sawtooth shows losses and recoveries, a flat top below the advertised window a send "
        "buffer, a flat top at the advertised window the receive window."
    ),
    "rate": (
        "New payload per second at the capture; at the sender's end the rate exceeds the path's "
        "while a queue fills. Steps down are window reductions, gaps are timeouts or an idle "
        "application."
    ),
    "delay": (
        "Delay between the captures, with the clocks aligned for equal minimum delays of both "
        "directions: the level is an assumption, differences are measured. Peaks are queues. Dots "
        "are packets; a line without dots spans a time without packets."
    ),
    "loss": "Share of the packets sent in each {width} s that did not reach the other capture. "
    "Losses at peaks of the delay are overflows; others are losses of the link.",
}
_STYLE = {"rtt": "samples", "delay": "samples", "outstanding": "steps"}


def panels(sent: pl.DataFrame, back: pl.DataFrame, delays: pl.DataFrame | None) -> list[Panel]:
    """The panels of one direction: its sender's packets, the other end's, and with two captures the
    delay of each packet between them.
    """
    made = [
        _panel("rtt", "Round-trip time", "ms", [envelope("RTT", back, "rtt_ms", 1.0)]),
        _panel("outstanding", "Bytes in flight", "KB", _outstanding(sent, back)),
        _panel("rate", "Goodput", "Mb/s", [goodput(sent)]),
    ]
    if delays is not None:
        made.append(_panel("delay", "One-way delay", "ms", [envelope("delay", delays, "delay_ms", 1.0)]))
        if delays["delay_ms"].null_count():
            width = _loss_bin(delays)
            reading = _READING["loss"].format(width=f"{width:.1f}")
            made.append(Panel("loss", "Packets lost", "%", reading, (loss_share(delays, width),)))
    return [panel for panel in made if any(line.times for line in panel.lines)]


def end(drawn: Sequence[Panel]) -> float | None:
    """The end of the common time axis of panels."""
    return max((line.times[-1] for panel in drawn for line in panel.lines if line.times), default=None)


def _panel(key: str, title: str, unit: str, lines: list[Line]) -> Panel:
    return Panel(key, title, unit, _READING[key], tuple(lines), _STYLE.get(key, ""))


def envelope(name: str, frame: pl.DataFrame, column: str, scale: float, gap_s: float | None = None) -> Line:
    """The minimum and maximum of each of `BINS` bins, at their times.

    The line has a break (NaN) where ``gap_s`` seconds have no value.
    """
    line = _envelope(name, frame, column, scale)
    if gap_s is None:
        return line
    times, values = line.times[:1], line.values[:1]
    for before, time, value in zip(line.times, line.times[1:], line.values[1:], strict=False):
        if time - before > gap_s:
            times.append(before)
            values.append(math.nan)
        times.append(time)
        values.append(value)
    return Line(name, times, values)


def _envelope(name: str, frame: pl.DataFrame, column: str, scale: float) -> Line:
    known = frame.select("time_s", pl.col(column).cast(pl.Float64) * scale).drop_nulls().sort("time_s")
    if known.height <= 2 * BINS:
        return Line(name, known["time_s"].to_list(), known[column].to_list())
    width = _span(known) / BINS
    bins = known.group_by((pl.col("time_s") / width).floor().alias("bin"), maintain_order=True)
    ends = bins.agg(
        pl.col("time_s").gather(pl.col(column).arg_min()).first().alias("at_low"),
        pl.col(column).min().alias("low"),
        pl.col("time_s").gather(pl.col(column).arg_max()).first().alias("at_high"),
        pl.col(column).max().alias("high"),
    )
    low = ends.select(pl.col("at_low").alias("t"), pl.col("low").alias("v"))
    points = (
        pl.concat([low, ends.select(pl.col("at_high").alias("t"), pl.col("high").alias("v"))]).unique().sort("t", "v")
    )
    return Line(name, points["t"].to_list(), points["v"].to_list())


def _span(frame: pl.DataFrame) -> float:
    times = frame["time_s"]
    return max(1e-9, float(times.max() or 0.0) - float(times.min() or 0.0))  # type: ignore[arg-type]


def _outstanding(sent: pl.DataFrame, back: pl.DataFrame) -> list[Line]:
    own = sent.select("time_s", pl.col("outstanding_bytes").alias("bytes"))
    theirs = back.select("time_s", pl.col("peer_outstanding_bytes").alias("bytes"))
    both = pl.concat([own, theirs]).sort("time_s", maintain_order=True)
    lines = [envelope("bytes in flight", both, "bytes", 1e-3)]
    offered = back.filter(~pl.col("kind").is_in(["reset", "syn"]))
    top = float(both["bytes"].max() or 0.0)  # type: ignore[arg-type]
    # The scale of a window far above the bytes in flight would flatten their curve.
    if offered.height and top and float(offered["window_bytes"].median() or 0.0) <= 3 * top:  # type: ignore[arg-type]
        lines.append(envelope("advertised window", offered, "window_bytes", 1e-3))
    return lines


def goodput(sent: pl.DataFrame) -> Line:
    """New payload in `RATE_BINS` bins, Mb/s."""
    new = sent.filter(pl.col("kind").is_in(["new", "after_hole"]))
    if new.height < 2:
        return Line("goodput", [], [])
    start, width = float(new["time_s"].min()), _span(new) / RATE_BINS  # type: ignore[arg-type]
    # From the first packet to the last, which is in the last bin: a bin that is cut off would show
    # a rate that was not there.
    binned = new.group_by(
        ((pl.col("time_s") - start) / width).floor().clip(0, RATE_BINS - 1).cast(pl.Int64).alias("bin")
    ).agg(pl.col("payload_bytes").sum())
    every = (
        pl.DataFrame({"bin": range(RATE_BINS)}, schema={"bin": pl.Int64})
        .join(binned, on="bin", how="left", maintain_order="left")
        .fill_null(0)
    )
    times = [start + (number + 0.5) * width for number in every["bin"]]
    return Line("goodput", times, [count * 8e-6 / width for count in every["payload_bytes"]])


def rate_line(name: str, arrivals: pl.DataFrame, column: str, width: float, end: float) -> Line:
    """The bytes in `column` of each `width` seconds up to `end` as a rate in Mb/s."""
    in_bin = (pl.col("time_s") / width).floor().cast(pl.Int64).alias("bin")
    counts = dict(arrivals.group_by(in_bin).agg(pl.col(column).cast(pl.Float64).sum()).iter_rows())
    bins = range(int(end / width) + 1)
    return Line(name, [(one + 0.5) * width for one in bins], [counts.get(one, 0.0) * 8e-6 / width for one in bins])


def loss_share(delays: pl.DataFrame, width: float) -> Line:
    """Lost packets of each `width` seconds in percent; bins without packets have no value and
    interrupt the line.
    """
    binned = (
        delays.group_by((pl.col("time_s") / width).floor().cast(pl.Int64).alias("bin"))
        .agg(pl.col("delay_ms").is_null().mean().alias("lost"))
        .sort("bin")
    )
    shares = {int(bin_): float(lost) for bin_, lost in binned.iter_rows()}
    edges = {beside for bin_ in shares for beside in (bin_ - 1, bin_ + 1) if min(shares) < beside < max(shares)}
    points = sorted({**dict.fromkeys(edges, 0.0), **shares}.items())
    return Line("lost", [(bin_ + 0.5) * width for bin_, _ in points], [100.0 * lost for _, lost in points])


def _loss_bin(delays: pl.DataFrame) -> float:
    """The width of a bin: a tenth of a second, or more if there would be too many bins."""
    return max(_LOSS_BIN_S, round(_span(delays) / MAX_LOSS_BINS, 1))
