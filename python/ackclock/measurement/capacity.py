"""The search for a rate that fills one direction: evenly paced UDP at increasing rates, up to an
overflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ackclock.errors import RunFailed
from ackclock.input.units import show_rate
from ackclock.measurement.session import HEADERS, datagram_test, low_rate, paced

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionStats, TestSpec
    from ackclock.documents.measure import Capacity, Queue
    from ackclock.documents.parts import Direction
    from ackclock.measurement.consistency import Statements
    from ackclock.measurement.queue_facts import Train

TRIAL_S = 0.4
FASTER = 4.0
"""Ratio of the rates of two trials."""
GROWN = 1.3
"""The path is full if the received rate grows by less than this factor when the sent rate grows by
FASTER. Loss is no criterion: radio links lose, too.
"""
OVER = 1.25
"""Rate of the last run relative to the capacity: enough to fill a buffer."""
CHECK_S = 2.0
"""Duration of a run that checks whether the rate fills the path for longer than a trial."""
CHECK_PACKETS = 100
CHECKS = 6
MIN_WINDOWS = 2
SENT_SHARE = 0.9
"""A stream sent at less than this share of the requested rate shows its sender: the search requests
1.25 times what the path carries."""
MIN_FILLED_S = 3.0
"""A shorter run above the capacity shows no queue's kind."""
RESERVE_BYTES = 20_000
"""Bytes of IP of 20 datagrams, the minimum of a train."""
LOW_RATE_BPS = 48 * 8 * 25
SURELY_OVER = 5.0
"""Ratio of the sent to the received rate from which on the stream fills any path."""
CARRIED = 0.97
"""A path that passes this share of the stream is not full."""
EXCHANGE_SHARE = 0.002
"""Share of the stream's rate that the sparse connections beside it may take."""
EXCHANGE_BITS = 8 * 700
"""Bits of IP of one connection that requests one byte, both directions together."""
MIN_EXCHANGE_S = 0.2
MAX_SECONDS = 60.0


@dataclass(frozen=True)
class Ran:
    """A finished run: its number, the rates of IP in b/s, and its datagrams."""

    number: int
    received_bps: float | None
    sent_bps: float
    train: Callable[[], Train]
    asked_bps: float = 0.0

    @property
    def is_late(self) -> bool:
        """The sender did not keep the requested rate: a faster request is sent no faster."""
        return self.sent_bps < SENT_SHARE * self.asked_bps


@dataclass(frozen=True)
class Found:
    """The run that filled the path (``filled``), or the fastest one; and the trials before it."""

    number: int
    filled: bool
    below: tuple[int, ...]


Run = Callable[[list["TestSpec"], str], Ran]
Judge = Callable[["Train"], "Queue"]


@dataclass
class CapacitySearch:
    """Searches in one direction. ``run`` runs concurrent tests, of which the first is the stream;
    ``judge`` infers the queue from the stream.
    """

    run: Run
    judge: Judge
    direction: Direction
    seconds: float
    payload: int
    start_bps: float
    max_bps: float
    allowance: Callable[[], float] = lambda: math.inf
    """Bytes of IP that the search may still send."""
    bounded: str | None = field(default=None, init=False)
    """What the allowance did not permit."""
    shortest_s: float = field(default=math.inf, init=False)
    """Seconds of the run above the capacity."""

    def search(self) -> Found:
        """Trials at increasing rates, then a run above the capacity."""
        rate, previous_bps = self.start_bps, 0.0
        trials: list[tuple[int, float]] = []
        while True:
            ran = self._ran(rate, TRIAL_S)
            trials.append((ran.number, rate))
            if ran.received_bps is None:
                raise RunFailed(f"capacity {self.direction}: no datagrams of {show_rate(round(rate))} were received")
            if ran.received_bps < GROWN * previous_bps:
                return self._fill(max(ran.received_bps, previous_bps), trials)
            following = min(rate * FASTER, self.max_bps)
            # The trial and the run above the capacity must both fit.
            if self._affordable_s(following) < 2 * TRIAL_S:
                self.bounded = f"rates of {show_rate(round(following))} and more"
                return Found(ran.number, False, _below(trials, rate))
            if rate >= self.max_bps:
                self.shortest_s = min(self.seconds, self._affordable_s(rate))
                return Found(self._ran(self.max_bps, self.shortest_s).number, False, _below(trials, rate))
            rate, previous_bps = following, ran.received_bps

    def _fill(self, received_bps: float, trials: list[tuple[int, float]]) -> Found:
        """Raise the rate until it fills the path throughout, then run for the whole duration; once
        more, longer and faster, if no buffer overflowed.
        """
        rate = lowest = min(OVER * received_bps, self.max_bps)
        for _ in range(CHECKS):
            packets_s = CHECK_PACKETS * (self.payload + HEADERS) * 8 / rate
            ran = self._ran(rate, min(max(CHECK_S, packets_s), self.seconds, 0.25 * self._affordable_s(rate)))
            if ran.is_late:
                # A rate that the sender does not keep shows its pauses; a lower one may fill it.
                rate = min(rate, max(lowest, OVER * (ran.received_bps or 0.0)))
                break
            if (not self._carried_all(ran) and self._busy(ran)) or rate >= self.max_bps:
                break
            if self._affordable_s(2 * rate) < CHECK_S + MIN_FILLED_S:
                break
            rate = min(2 * rate, self.max_bps)
        seconds = self.seconds
        for last in (False, True):
            self.shortest_s = min(seconds, self._affordable_s(rate))
            ran = self._ran(rate, self.shortest_s, beside=True)
            if rate >= self.max_bps and self._carried_all(ran):
                return Found(ran.number, False, _below(trials, received_bps))
            statements = self.judge(ran.train())
            busy = statements["rate"] is not None and statements["rate"]["busy_share"] >= 0.9
            if last or ran.is_late or (busy and statements["losses"] not in ("none", "channel")):
                break
            seconds, rate = min(2 * seconds, MAX_SECONDS), min(rate * (OVER if busy else 2.0), self.max_bps)
            if self._affordable_s(rate) < self.seconds:
                break
        filled = not self._carried_all(ran) or (
            statements["rate"] is not None and statements["rate"]["busy_share"] >= 0.9
        )
        return Found(ran.number, filled, _below(trials, received_bps))

    def _affordable_s(self, rate: float) -> float:
        """Seconds of a stream of this rate within the allowance, with the sparse datagrams beside
        it."""
        return max(0.0, self.allowance() - RESERVE_BYTES) * 8 / (rate * (1 + EXCHANGE_SHARE) + 2 * LOW_RATE_BPS)

    @staticmethod
    def _carried_all(ran: Ran) -> bool:
        return (ran.received_bps or 0.0) > CARRIED * ran.sent_bps

    def _busy(self, ran: Ran) -> bool:
        if ran.sent_bps > SURELY_OVER * (ran.received_bps or 0.0):
            return True
        train = ran.train()
        rate = self.judge(train)["rate"]
        # A run of few datagrams, of which the path did not pass all, shows no idle windows.
        if rate is None or rate["windows"] < MIN_WINDOWS:
            return len(train.sent_s) <= 2 * CHECK_PACKETS
        return rate["busy_share"] >= 0.6

    def _ran(self, rate: float, seconds: float, *, beside: bool = False) -> Ran:
        # On a slow link a trial may have only a few datagrams.
        train = paced(rate, seconds, self.payload)
        duration_s = train["gap_ns"] * train["count"] * 1e-9
        specs = [datagram_test(self.direction, train, low_rate(duration_s))]
        if beside:
            specs.append(exchanges(rate, duration_s))
        return self.run(specs, f"capacity {self.direction}")


def exchanges(rate_bps: float, seconds: float) -> TestSpec:
    """Sparse connections that request one byte, beside a stream of this rate."""
    every_s = max(MIN_EXCHANGE_S, EXCHANGE_BITS / (EXCHANGE_SHARE * rate_bps))
    return {
        "transfers": {
            "way": "down",
            "bytes": 1,
            "count": max(1, round(seconds / every_s)),
            "congestion": None,
            "every_ns": round(1e9 * every_s),
            "limit_ns": round(1e9 * (seconds + 1.0)),
        }
    }


def _below(trials: list[tuple[int, float]], received_bps: float) -> tuple[int, ...]:
    """The trials at rates clearly below the capacity, which met no queue."""
    return tuple(number for number, rate in trials if rate < 0.8 * received_bps)


def capacity(figures: DirectionStats, statements: Statements) -> Capacity:
    """The result of a run above the capacity, for the document."""
    queue = statements.queue
    rate = queue["rate"]
    return {
        "rate_bps": statements.rate_bps,
        "at_least": statements.at_least,
        "at_least_because": statements.because,
        "packet_bytes": figures["ip_bytes"],
        "buffer_bytes": {"min_based": queue["buffer_lo_bytes"], "max_based": queue["buffer_hi_bytes"]},
        "overflowed": queue["buffer_bytes"] is not None,
        "queue": queue,
        "late": statements.late,
        "sent": {
            **figures,
            "bottleneck": {
                "rate_bps": None if rate is None else rate["mean_bps"],
                "min_based_bytes": queue["buffer_lo_bytes"],
                "max_based_bytes": queue["buffer_hi_bytes"],
                "filled": queue["buffer_bytes"] is not None,
                "losses_are": LOSS_ORIGINS[queue["losses"]],
            },
        },
    }


LOSS_ORIGINS = {
    "overflow": "congestion",
    "aqm": "congestion",
    "channel": "radio",
    "both": "both",
    "none": "unclear",
    "unknown": "unclear",
}
"""The origins of losses in the terms of ``analyze``."""
