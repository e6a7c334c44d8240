"""Per-hop RTT, loss and link capacity from probes of different sizes (pathchar).

A packet of b bytes takes b * 8 / rate on each link, so the minimum RTT to a hop is linear in b, and
its slope is the sum of 8 / rate over the links. The difference of the slopes of two hops is that of
the link between them (pathchar, van Jacobson 1997; pchar).
Assumptions: replies of one size, a minimum RTT without queueing, links that send bit by bit.
Frames, grants, full token buckets and slow routers violate them, which shows in the residuals and
the interval: then the capacity is invalid, with a reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ackclock.statistics.intervals import t_quantile
from ackclock.statistics.linear_fit import Line, fit_line
from ackclock.statistics.summary_stats import EMPTY_SUMMARY, summary_stats

if TYPE_CHECKING:
    from ackclock.documents.engine import SummaryStats
    from ackclock.documents.measure import Hop as HopEntry
    from ackclock.documents.measure import ProbeRow

FEWEST_SIZES = 3
"""Minimum number of sizes; two are always on a line."""
STRAIGHT = 0.1
"""Maximum standard deviation of the residuals, as a share of the line's rise over the sizes."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Capacity:
    """Capacity of the link before a hop, in b/s.

    ``lo`` and ``hi`` are the 95 % interval, from the difference of the slopes.
    """

    bps: float | None
    lo: float | None
    hi: float | None
    valid: bool
    why: str
    """The reason of an invalid capacity, else the number of sizes."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A hop.

    Times in ms; ``answered`` of ``sent`` probes, without brisk probes if the hop limits its
    replies.
    """

    hop: int
    addresses: tuple[str, ...]
    reached: bool
    """Whether it is the destination."""
    sent: int
    answered: int
    rtt_ms: SummaryStats
    line: Line | None
    """Minimum RTT in seconds over the bits of the IP packet."""
    capacity: Capacity = field(default=Capacity(None, None, None, valid=False, why="no sizes were sent"))

    def as_json(self) -> HopEntry:
        """The fields of one entry of ``path`` in the JSON document; ``residual_ms`` is about the
        line.
        """
        line, link = self.line, self.capacity
        return {
            "hop": self.hop,
            "addresses": list(self.addresses),
            "reached": self.reached,
            "sent": self.sent,
            "answered": self.answered,
            "loss_rate": 1.0 - self.answered / self.sent if self.sent else None,
            "rtt_ms": self.rtt_ms,
            "residual_ms": line.residual_sd * 1e3 if line else None,
            "sizes": line.n if line else 0,
            "capacity": {"bps": link.bps, "lo": link.lo, "hi": link.hi, "valid": link.valid, "why": link.why},
        }


def hops_of(rows: Sequence[ProbeRow]) -> list[Hop]:
    """The hops of a path, in order. A row is a probe: ``hop``, ``ip_bytes``, ``rtt_ms`` (None: no
    reply), ``address``, ``answer`` (``expired``, ``reached``, ``too-big``, ``refused`` or None),
    ``brisk`` (sent earlier than the interval of an ICMP rate limit).
    """
    hops: list[Hop] = []
    for number in sorted({row["hop"] for row in rows}):
        hop = _hop(number, [row for row in rows if row["hop"] == number])
        if hop.addresses:
            hops.append(replace(hop, capacity=capacity(hop, hops[-1] if hops else None)))
    return hops


def _hop(number: int, rows: Sequence[ProbeRow]) -> Hop:
    replies = [row for row in rows if row["rtt_ms"] is not None and row["answer"] != "too-big"]
    # A brisk probe without a reply is a loss or an ICMP rate limit: no loss rate from brisk probes.
    limits = any(row.get("brisk") and row["rtt_ms"] is None for row in rows)
    counted = [row for row in rows if row["answer"] != "too-big" and not (limits and row.get("brisk"))]
    answered = sum(row["rtt_ms"] is not None for row in counted)
    times = [row["rtt_ms"] for row in replies if row["rtt_ms"] is not None]
    minimum: dict[float, float] = {}
    for row, rtt_ms in zip(replies, times, strict=True):
        bits, seconds = 8.0 * row["ip_bytes"], rtt_ms * 1e-3
        minimum[bits] = min(seconds, minimum.get(bits, math.inf))
    line = fit_line(list(minimum), list(minimum.values())) if len(minimum) >= FEWEST_SIZES else None
    rtt = summary_stats(times) or EMPTY_SUMMARY
    addresses = tuple(sorted({str(row["address"]) for row in replies}))
    return Hop(number, addresses, any(row["answer"] == "reached" for row in replies), len(counted), answered, rtt, line)


def capacity(hop: Hop, before: Hop | None) -> Capacity:
    """The capacity of the link between two hops (``before`` None: this host)."""
    if hop.line is None:
        return Capacity(None, None, None, valid=False, why=f"fewer than {FEWEST_SIZES} sizes had replies")
    lines = [hop.line]
    if before is not None and before.line is None:
        return Capacity(None, None, None, valid=False, why=f"hop {before.hop} had replies for too few sizes")
    slope = hop.line.slope
    if before is not None and before.line is not None:
        slope -= before.line.slope
        lines.append(before.line)
    half = t_quantile((1.0 + CONFIDENCE) / 2.0, max(1, min(line.freedom for line in lines)))
    half *= math.hypot(*(line.slope_sd for line in lines))
    minimum, maximum = slope - half, slope + half
    bps = 1.0 / slope if slope > 0.0 else None
    lo, hi = (1.0 / maximum if maximum > 0.0 else None), (1.0 / minimum if minimum > 0.0 else None)
    why = _why_not(hop.line, slope, half)
    skipped = (
        ""
        if before is None or hop.hop == before.hop + 1
        else f" of the {hop.hop - before.hop} links since hop {before.hop}"
    )
    return Capacity(bps, lo, hi, valid=why is None, why=why or f"minimum RTTs of {hop.line.n} sizes{skipped}")


def _why_not(line: Line, slope: float, half: float) -> str | None:
    """The reason of an invalid capacity; None for a valid one."""
    if slope <= half:
        return (
            "the minimum RTT does not increase more with size than that of the hop before: the "
            "link is too fast for these probes, or delays short packets as much as long ones "
            "(frames, grants, a full token bucket)"
        )
    rise = line.slope * line.span
    if line.residual_sd > STRAIGHT * rise:
        return (
            f"the minimum RTTs are not on a line (residuals {line.residual_sd * 1e3:.2g} ms of a "
            f"rise of {rise * 1e3:.2g} ms): frames, load, or a router with slow replies"
        )
    return None
