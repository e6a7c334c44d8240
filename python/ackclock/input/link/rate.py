"""Rates of hops: a fixed one in bits per second, a recorded or a scheduled one
(crates/scenario/src/link/rate.rs).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

from ackclock.input.checked_table import CheckedTable
from ackclock.input.link.hop import Hop
from ackclock.input.link.trace import Recording, read_recording


def recording(rate: CheckedTable) -> Recording:
    """The recording of a recorded rate."""
    return read_recording(Path(rate.trace))


def is_recorded(rate: int | CheckedTable | None) -> bool:
    """Whether a rate is a recording."""
    return not isinstance(rate, int | None) and rate.table_name == "TraceRate"


def is_schedule(value: Any) -> TypeGuard[CheckedTable]:
    """Whether a rate, a delay or a mean loss changes at given times
    (crates/scenario/src/link/schedule.rs).
    """
    return getattr(value, "table_name", None) in ("RateSchedule", "DelaySchedule", "LossSchedule")


def mean_rate(rate: CheckedTable) -> float:
    """The mean in bits per second of a rate that is not fixed."""
    return recording(rate).mean_bps() if is_recorded(rate) else float(rate.mean_bps)


def mean_bps(hop: Hop, direction: str) -> float | None:
    """The rate of a direction, the minimum of line, shaper and policer: a changing one by its mean,
    that of a medium by its maximum; None without a rate.
    """
    side = getattr(hop, direction)
    bps: int | None = hop.slowest_bps.get(direction)
    if side and not isinstance(side.rate, int | None):
        mean = mean_rate(side.rate)
        return mean if bps is None else min(mean, bps)
    return bps
