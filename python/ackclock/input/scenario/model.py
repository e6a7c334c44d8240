"""A scenario: a link, flows, duration, seeds and measurement window
(crates/scenario/src/scenario). Times in ps, rates in bits/s, sizes in bytes.
"""

from __future__ import annotations

from ackclock._native import PHASE_START_PS, Scenario


def measured_ps(window: tuple[int, int], duration: int) -> tuple[int, int]:
    """A measurement window in ps from the start; negative times count from the end."""
    start, end = (time if time >= 0 else duration + time for time in window)
    return start, end


__all__ = ["PHASE_START_PS", "Scenario", "measured_ps"]
