"""Recorded facts about one direction of a path, the input of
`ackclock.measurement.queue_inference`.

The module has no clock, no socket and no file: live sessions and simulated links make the same
facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.engine import TestResult
    from ackclock.documents.parts import Direction

Floats = NDArray[np.float64]


PAUSE_S = 0.002
"""A gap of the sender this much above the requested one is a pause: it was not scheduled."""


@dataclass(frozen=True)
class Train:
    """Datagrams of ``ip_bytes`` each, in sending order.

    ``sent_s`` is in seconds by the sender's clock, ``delay_ms`` the one-way delay with a constant
    offset that is common to all trains of a direction, NaN where the datagram was lost. ``gap_s``
    is
    the requested interval in seconds, None if it is not known; ``unsent`` counts the datagrams that
    the sender had no time for, ``overrun`` those that the receiver's kernel dropped as its socket
    was full (at most: other trains share the socket).
    """

    ip_bytes: int
    sent_s: Floats
    delay_ms: Floats
    gap_s: float | None = None
    unsent: int = 0
    overrun: int = 0

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Whether each datagram was lost."""
        return np.isnan(self.delay_ms)

    @property
    def sent_bps(self) -> float:
        """Rate of IP at the sender, b/s; 0 for a single datagram."""
        if len(self.sent_s) < 2:
            return 0.0
        return float((len(self.sent_s) - 1) * self.ip_bytes * 8 / (self.sent_s[-1] - self.sent_s[0]))

    @property
    def pauses_s(self) -> Floats:
        """What the sender's gaps have above the requested one, where that is a pause."""
        if self.gap_s is None:
            return np.zeros(0)
        above: Floats = np.diff(self.sent_s) - self.gap_s
        return above[above > PAUSE_S]

    @property
    def pause_share(self) -> float:
        """Share of the train's time in which the sender paused."""
        pauses = self.pauses_s
        return float(pauses.sum() / (self.sent_s[-1] - self.sent_s[0])) if len(pauses) else 0.0


@dataclass(frozen=True)
class QueueFacts:
    """What was recorded about one direction.

    Attributes:
        idle: sparse datagrams without other traffic of this measurement.
        stream: the stream above the capacity, which does not yield.
        below: streams at lower rates, such as the trials of the search for the capacity.
        beside_stream_ms: RTTs of handshakes of other connections while the stream was sent.
        idle_rtt_ms: median RTT without a queue; None if unknown.
        beside_tcp: sparse datagrams while TCP connections fill this direction.
        tcp_rtt_ms: smoothed RTTs of those connections.
        tcp_retransmitted: their retransmitted segments.
        tcp_segments: all segments that they sent.
    """

    idle: Train | None = None
    stream: Train | None = None
    below: Sequence[Train] = ()
    beside_stream_ms: Sequence[float] = ()
    idle_rtt_ms: float | None = None
    beside_tcp: Train | None = None
    tcp_rtt_ms: Sequence[float] = field(default=())
    tcp_retransmitted: int = 0
    tcp_segments: int = 0


def train_of(delays: pl.DataFrame, test: int, direction: str, ip_bytes: int) -> Train | None:
    """A train from the rows of ``delays.parquet``; None if the test sent nothing in that
    direction.
    """
    import polars as pl

    rows = delays.filter((pl.col("test") == test) & (pl.col("direction") == direction)).sort("number")
    if rows.is_empty():
        return None
    # Without a clock comparison there is no delay; the difference of the timestamps varies with it.
    column = "difference_ms" if rows["delay_ms"].null_count() == rows.height else "delay_ms"
    delay_ms = rows[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return Train(ip_bytes, rows["sent_s"].to_numpy(), delay_ms)


def train_of_test(delays: pl.DataFrame, number: int, direction: Direction, test: TestResult) -> Train | None:
    """A train of a test with this number, and how its hosts kept up; None if the test sent nothing
    in that direction.
    """
    stats = next((stats for stats in test["directions"] if stats["direction"] == direction), None)
    train = None if stats is None else train_of(delays, number, direction, stats["ip_bytes"])
    if stats is None or train is None:
        return None
    asked = test["spec"]["datagrams"][direction]
    return replace(
        train,
        gap_s=stats["asked_gap_us"] * 1e-6,
        unsent=max(0, (asked["count"] if asked else 0) - stats["sent"]),
        overrun=test["near_overrun"] if direction == "down" else test["far_overrun"],
    )
