"""What probes of stepped sizes say of each hop: round trip, loss, and the capacity of the link before it.

A packet of b bytes needs b * 8 / rate on every link that it crosses, so the least round trip to a hop rises with b along a line whose slope is the
sum of those links' 8 / rate; the difference of two hops' slopes is the link between them (pathchar, van Jacobson 1997; pchar; papers/README.md,
section 2.3). It takes for granted that answers are of one size, that the least of a few round trips waited nowhere, and that a link sends bit after
bit. Frames, grants, token buckets that are full after a pause and routers that answer slowly break that, which is seen in the line's residuals
and in its interval: then a capacity is given as invalid, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ackclock.statistics.intervals import t_quantile
from ackclock.statistics.linear_fit import Line, least_squares
from ackclock.statistics.quantiles import spread

FEWEST_SIZES = 3
"""Two sizes always lie on a line."""
STRAIGHT = 0.1
"""A line's residuals (standard deviation) may be this share of what it rises over the sizes."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Capacity:
    """Of the link before a hop, toward it, in b/s. ``lo`` and ``hi`` are the 95 % interval of the slopes' difference."""

    bps: float | None
    lo: float | None
    hi: float | None
    valid: bool
    why: str
    """Of an invalid one what forbids it, else what it rests on."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One hop. Times in ms; ``answered`` of ``sent`` probes, brisk ones left out where the hop limits its answers."""

    hop: int
    addresses: tuple[str, ...]
    reached: bool
    """It is the far end."""
    sent: int
    answered: int
    rtt_ms: dict[str, float | None]
    line: Line | None
    """Least round trip in seconds against bits of IP packet."""
    capacity: Capacity = field(default=Capacity(None, None, None, valid=False, why="no sizes were sent"))

    def as_json(self) -> dict[str, object]:
        """The fields of one entry of ``path`` in the JSON document; ``residual_ms`` is about the line."""
        line, found = self.line, self.capacity
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
            "capacity": {"bps": found.bps, "lo": found.lo, "hi": found.hi, "valid": found.valid, "why": found.why},
        }


def hops_of(rows: Sequence[Mapping[str, object]]) -> list[Hop]:
    """The hops of a walk, in path order. A row is a probe: ``hop``, ``ip_bytes``, ``rtt_ms`` (None: no answer), ``address``, ``answer``
    (``expired``, ``reached``, ``too-big``, ``refused`` or None), ``brisk`` (it left sooner than a hop that limits its answers would answer).
    """
    found: list[Hop] = []
    for number in sorted({int(str(row["hop"])) for row in rows}):
        hop = _hop(number, [row for row in rows if row["hop"] == number])
        if hop.addresses:
            found.append(replace(hop, capacity=capacity(hop, found[-1] if found else None)))
    return found


def _hop(number: int, rows: Sequence[Mapping[str, object]]) -> Hop:
    heard = [row for row in rows if row["rtt_ms"] is not None and row["answer"] != "too-big"]
    # An unanswered brisk probe is a loss or an ICMP rate limit, so brisk probes give no loss rate.
    limits = any(row.get("brisk") and row["rtt_ms"] is None for row in rows)
    counted = [row for row in rows if row["answer"] != "too-big" and not (limits and row.get("brisk"))]
    answered = sum(row["rtt_ms"] is not None for row in counted)
    times = [float(str(row["rtt_ms"])) for row in heard]
    least: dict[float, float] = {}
    for row in heard:
        bits, seconds = 8.0 * float(str(row["ip_bytes"])), float(str(row["rtt_ms"])) * 1e-3
        least[bits] = min(seconds, least.get(bits, math.inf))
    line = least_squares(list(least), list(least.values())) if len(least) >= FEWEST_SIZES else None
    told = spread(times) or {}
    rtt = {key: told.get(key) for key in ("min", "mean", "p50", "p95", "max")}
    addresses = tuple(sorted({str(row["address"]) for row in heard}))
    return Hop(number, addresses, any(row["answer"] == "reached" for row in heard), len(counted), answered, rtt, line)


def capacity(hop: Hop, before: Hop | None) -> Capacity:
    """Of the link between two hops that answered (``before`` None: this host)."""
    if hop.line is None:
        return Capacity(None, None, None, valid=False, why=f"fewer than {FEWEST_SIZES} sizes were answered")
    lines = [hop.line]
    if before is not None and before.line is None:
        return Capacity(None, None, None, valid=False, why=f"hop {before.hop} answered too few sizes to be taken off")
    slope = hop.line.slope
    if before is not None and before.line is not None:
        slope -= before.line.slope
        lines.append(before.line)
    half = t_quantile((1.0 + CONFIDENCE) / 2.0, max(1, min(line.freedom for line in lines)))
    half *= math.hypot(*(line.slope_sd for line in lines))
    least, most = slope - half, slope + half
    bps = 1.0 / slope if slope > 0.0 else None
    lo, hi = (1.0 / most if most > 0.0 else None), (1.0 / least if least > 0.0 else None)
    why = _why_not(hop.line, slope, half)
    skipped = (
        "" if before is None or hop.hop == before.hop + 1 else f" of the {hop.hop - before.hop} links since hop {before.hop}"
    )
    return Capacity(bps, lo, hi, valid=why is None, why=why or f"least round trips of {hop.line.n} sizes{skipped}")


def _why_not(line: Line, slope: float, half: float) -> str | None:
    """What forbids the reading, if anything does."""
    if slope <= half:
        return (
            "the least round trips do not rise more with size than to the hop before: the link is too fast for these probes, or holds back "
            "short packets as long as long ones (frames, grants, a token bucket that is full after a pause)"
        )
    rise = line.slope * line.span
    if line.residual_sd > STRAIGHT * rise:
        return (
            f"the least round trips do not lie on a line (residuals {line.residual_sd * 1e3:.2g} ms of a rise of {rise * 1e3:.2g} ms): "
            "frames, load, or a router that answers when it has time"
        )
    return None
