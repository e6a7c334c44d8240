"""An emulation over time: rate and goodput of each direction above, delay in the link and RTT
below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ackclock.errors import AckclockError
from ackclock.plot.capture import GAP_S, envelope, rate_line
from ackclock.plot.time_axis import stacked
from ackclock.plot.time_series import Line, Panel
from ackclock.report.page import Chart

BINS = 300
MIN_BIN_S = 0.1
"""Minimum averaging time of a rate: shorter ones show single packets."""
MAX_CAPTURE_BYTES = 64_000_000
"""Captures above this size are not read for a report: the analysis would take seconds."""
_FROM = {"server": "down", "client": "up"}
_READING = (
    "IP bytes that left the link in each direction{goodput}. Below, the time of each packet in the link, minimum and "
    "maximum of each interval{rtt}. A second without one is a gap."
)


def timeline(fates: pl.DataFrame, captures: Sequence[Path]) -> Chart | None:
    """The chart of an emulation by the fates of its packets and the captures of its ends, the
    server's first; None without packets.
    """
    if fates.is_empty():
        return None
    delivered = fates.filter(pl.col("fate") == "delivered").with_columns(
        pl.col("from").replace_strict(_FROM, return_dtype=pl.String).alias("direction"),
        pl.col("at_s").alias("time_s"),
        (1e3 * (pl.col("at_s") - pl.col("sent_s"))).alias("delay_ms"),
    )
    if delivered.is_empty():
        return None
    end = float(fates["at_s"].max() or 0.0)  # type: ignore[arg-type]
    width = max(MIN_BIN_S, end / BINS)
    of = {direction: delivered.filter(pl.col("direction") == direction) for direction in _FROM.values()}
    packets = _packets(captures)
    rates = [rate_line(name, own, "bytes", width, end) for name, own in of.items() if not own.is_empty()]
    delays = [envelope(direction, own, "delay_ms", 1.0, GAP_S) for direction, own in of.items() if not own.is_empty()]
    panels = [
        Panel("rate", "Rate", "Mb/s", "", tuple(rates)),
        Panel("delay", "Delay in the link", "ms", "", tuple(delays)),
    ]
    goodputs, rtts = _tcp(packets, width, end)
    if goodputs:
        panels.insert(1, Panel("goodput", "TCP goodput", "Mb/s", "", goodputs))
    if rtts:
        panels.append(Panel("rtt", "TCP RTT", "ms", "", rtts))
    reading = _READING.format(
        goodput=", and the new TCP payload that reached the receiver" if goodputs else "",
        rtt=", and the RTT from a TCP segment to its ACK at the data's sender" if rtts else "",
    )
    return Chart("Rate and delay over time", reading, stacked(panels, (), end))


def _packets(captures: Sequence[Path]) -> pl.DataFrame | None:
    """The TCP packets of both captures; None without two captures, or with large ones."""
    if len(captures) != 2 or sum(path.stat().st_size for path in captures) > MAX_CAPTURE_BYTES:
        return None
    from ackclock.analysis import analyze

    try:
        series = analyze(*captures, series=True).series
    except AckclockError:
        return None
    if series is None or series.is_empty():
        return None
    return series


def _tcp(packets: pl.DataFrame | None, width: float, end: float) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """Goodput at the receiver and RTT at the sender, by direction of the data."""
    if packets is None:
        return (), ()
    goodputs, rtts = [], []
    for direction, data_direction, sender in (("down", "b2a", 1), ("up", "a2b", 2)):
        new = pl.col("kind").is_in(["new", "after_hole", "fast", "rack", "timeout", "go_back_n", "tail_probe"])
        data = packets.filter(
            (pl.col("way") == data_direction) & (pl.col("capture") != sender) & (pl.col("payload_bytes") > 0) & new
        )
        if data["payload_bytes"].sum() < 10_000:
            continue
        goodputs.append(rate_line(direction, data, "payload_bytes", width, end))
        acks = packets.filter((pl.col("way") != data_direction) & (pl.col("capture") == sender))
        if acks["rtt_ms"].drop_nulls().len():
            rtts.append(envelope(direction, acks, "rtt_ms", 1.0, GAP_S))
    return tuple(goodputs), tuple(rtts)
