"""Rates of hops: a fixed one in bits per second, or a recorded one
(crates/scenario/src/link/rate.rs).
"""

from __future__ import annotations

from pathlib import Path

from ackclock.input.checked_table import CheckedTable
from ackclock.input.link.hop import Hop
from ackclock.input.link.trace import Recording, read_recording


def recording(rate: CheckedTable) -> Recording:
    """The recording of a recorded rate."""
    return read_recording(Path(rate.trace))


def mean_bps(hop: Hop, direction: str) -> float | None:
    """The rate of a direction, the minimum of line, shaper and policer: a recorded one by its mean,
    that of a medium by its maximum; None without a rate.
    """
    side = getattr(hop, direction)
    bps: int | None = hop.slowest_bps.get(direction)
    if side and not isinstance(side.rate, int | None):
        mean = recording(side.rate).mean_bps()
        return mean if bps is None else min(mean, bps)
    return bps
