"""Capacity and bottleneck buffer of one direction: evenly paced UDP at increasing rates, up to an
overflow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ackclock.errors import RunFailed
from ackclock.input.units import show_rate
from ackclock.measurement.session import Figures, datagram_test, low_rate, paced

Run = Callable[[list[dict[str, Any]], str], tuple[list[int], list[list[Figures]]]]

TRIAL_S = 0.4
FASTER = 4.0
"""Ratio of the rates of two trials."""
GROWN = 1.3
"""The path is full if the received rate grows by less than this factor when the sent rate grows by
FASTER. Loss is no criterion: radio links lose, too.
"""
OVER = 1.25
"""Rate of the last run relative to the capacity: enough to fill a buffer."""
ATTEMPTS = 3
MAX_SECONDS = 60.0


def search(
    run: Run, direction: str, seconds: float, payload: int, start_bps: float, max_bps: float
) -> tuple[int, bool]:
    """The number of the test that filled the path, and whether the path was filled."""
    rate, previous_bps = start_bps, 0.0
    while True:
        received_bps = _ran(run, direction, rate, TRIAL_S, payload)[1]["received_bps"]
        if received_bps is None:
            raise RunFailed(f"capacity {direction}: no datagrams of {show_rate(round(rate))} were received")
        if received_bps < GROWN * previous_bps:
            return _fill(run, direction, max(received_bps, previous_bps), seconds, payload, max_bps)
        if rate >= max_bps:
            return _ran(run, direction, max_bps, seconds, payload)[0], False
        rate, previous_bps = min(rate * FASTER, max_bps), received_bps


def _fill(
    run: Run, direction: str, received_bps: float, seconds: float, payload: int, max_bps: float
) -> tuple[int, bool]:
    """A run above the capacity, faster if it was below, longer if no buffer overflowed."""
    number, rate = 0, min(OVER * received_bps, max_bps)
    for _ in range(ATTEMPTS):
        number, figures = _ran(run, direction, rate, seconds, payload)
        received, sent = (
            figures["bottleneck"]["rate_bps"] or figures["received_bps"] or 0.0,
            figures["sent_bps"] or rate,
        )
        if received > 0.97 * sent:
            if rate >= max_bps:
                return number, False
            rate = min(rate * OVER, max_bps)
        elif not figures["bottleneck"]["filled"]:
            seconds, rate = min(2 * seconds, MAX_SECONDS), min(rate * OVER, max_bps)
        else:
            return number, True
    return number, True


def _ran(run: Run, direction: str, rate: float, seconds: float, payload: int) -> tuple[int, Figures]:
    # On a slow link a trial may have only a few datagrams.
    train = paced(rate, seconds, payload)
    reverse = low_rate(train["gap_ns"] * train["count"] * 1e-9)
    numbers, directions = run([datagram_test(direction, train, reverse)], f"capacity {direction}")
    return numbers[0], next(figures for figures in directions[0] if figures["direction"] == direction)


def capacity(figures: Figures, filled: bool) -> Figures:
    """The result of a run above the capacity, for the document."""
    bottleneck = figures["bottleneck"]
    rate = bottleneck["rate_bps"] if filled and bottleneck["rate_bps"] else figures["received_bps"]
    return {
        "rate_bps": rate,
        "at_least": not filled,
        "packet_bytes": figures["ip_bytes"],
        "buffer_bytes": {"min_based": bottleneck["min_based_bytes"], "max_based": bottleneck["max_based_bytes"]},
        "overflowed": bottleneck["filled"],
        "sent": figures,
    }
