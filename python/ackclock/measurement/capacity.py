"""How much a path carries one way, and how much its bottleneck holds: evenly paced UDP, faster until it is too fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ackclock.errors import RunFailed
from ackclock.input.units import show_rate
from ackclock.measurement.session import Figures, datagram_test, low_rate, paced

Run = Callable[[list[dict[str, Any]], str], tuple[list[int], list[list[Figures]]]]

TRIAL_S = 0.4
FASTER = 4.0
"""From one trial to the next."""
GROWN = 1.3
"""A path through which less than this times more comes when four times as much is sent is full. What share is lost says less: radios lose, too."""
OVER = 1.25
"""How far beyond the capacity the last run goes: enough to fill a buffer, not so much that nothing else is seen."""
ATTEMPTS = 3
MOST_SECONDS = 60.0


def search(run: Run, way: str, seconds: float, payload: int, start_bps: float, most_bps: float) -> tuple[int, bool]:
    """The number of the test that filled the path, and whether the path was filled at all."""
    rate, before = start_bps, 0.0
    while True:
        found = _ran(run, way, rate, TRIAL_S, payload)[1]["received_bps"]
        if found is None:
            raise RunFailed(f"capacity {way}: of {show_rate(round(rate))} of datagrams nothing came through")
        if found < GROWN * before:
            return _fill(run, way, max(found, before), seconds, payload, most_bps)
        if rate >= most_bps:
            return _ran(run, way, most_bps, seconds, payload)[0], False
        rate, before = min(rate * FASTER, most_bps), found


def _fill(run: Run, way: str, found: float, seconds: float, payload: int, most_bps: float) -> tuple[int, bool]:
    """A run beyond the capacity, faster if that was not beyond it, longer if nothing overflowed."""
    number, rate = 0, min(OVER * found, most_bps)
    for _ in range(ATTEMPTS):
        number, seen = _ran(run, way, rate, seconds, payload)
        received, sent = seen["bottleneck"]["rate_bps"] or seen["received_bps"] or 0.0, seen["sent_bps"] or rate
        if received > 0.97 * sent:
            if rate >= most_bps:
                return number, False
            rate = min(rate * OVER, most_bps)
        elif not seen["bottleneck"]["filled"]:
            seconds, rate = min(2 * seconds, MOST_SECONDS), min(rate * OVER, most_bps)
        else:
            return number, True
    return number, True


def _ran(run: Run, way: str, rate: float, seconds: float, payload: int) -> tuple[int, Figures]:
    # A link may be so slow that its own share of a trial is a few datagrams.
    train = paced(rate, seconds, payload)
    back = low_rate(train["gap_ns"] * train["count"] * 1e-9)
    numbers, ways = run([datagram_test(way, train, back)], f"capacity {way}")
    return numbers[0], next(figures for figures in ways[0] if figures["direction"] == way)


def capacity(figures: Figures, filled: bool) -> Figures:
    """What a run beyond the capacity says, as the document has it."""
    there = figures["bottleneck"]
    rate = there["rate_bps"] if filled and there["rate_bps"] else figures["received_bps"]
    return {
        "rate_bps": rate,
        "at_least": not filled,
        "packet_bytes": figures["ip_bytes"],
        "buffer_bytes": {"min_based": there["min_based_bytes"], "max_based": there["max_based_bytes"]},
        "overflowed": there["filled"],
        "sent": figures,
    }
