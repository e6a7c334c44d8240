"""The time of a dialogue: real time from a chosen phase of the kernel's tick."""

from __future__ import annotations

import select
import time
from dataclasses import dataclass

from studies.dialogues.generator.host import CLOCK_MONOTONIC_COARSE

_SPIN_NS = 300_000
"""How long before an event the process stops sleeping."""
LATE_MS = 0.35
"""An event that happens later than this after its time makes a recording or a run invalid."""


class Late(Exception):
    """The process was not scheduled in time; what was seen since is not to be used."""


def tick_phase_ns(tick_ns: int) -> int:
    """When the ticks of this kernel are, as a remainder of the monotonic clock: a tick is when the
    coarse clock changes. Takes five ticks.
    """
    seen: list[int] = []
    while len(seen) < 5:
        before = time.clock_gettime_ns(CLOCK_MONOTONIC_COARSE)
        deadline = time.monotonic_ns() + 5 * tick_ns
        now = before
        while time.clock_gettime_ns(CLOCK_MONOTONIC_COARSE) == before and now < deadline:
            now = time.monotonic_ns()
        seen.append(now)
    # The earliest: a process that does not run sees a tick late.
    half = tick_ns // 2
    shifts = [(at - seen[0] + half) % tick_ns - half for at in seen]
    return (seen[0] + min(shifts)) % tick_ns


@dataclass
class Clock:
    """Milliseconds since the start of a dialogue, which is `phase_ms` after a tick."""

    phase_ms: float
    ticks: int

    def __post_init__(self) -> None:
        tick_ns = 10**9 // self.ticks
        phase = tick_phase_ns(tick_ns) + round(self.phase_ms * 1e6)
        now = time.monotonic_ns()
        self._start = now + 2 * tick_ns - (now - phase) % tick_ns

    def now(self) -> float:
        """Milliseconds."""
        return (time.monotonic_ns() - self._start) / 1e6

    def wait(self, until_ms: float, descriptor: int) -> bool:
        """Sleep until this time, or until the descriptor can be read. Returns whether it can.

        The last part of the time is spent awake, so that the event is on time.
        """
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        while True:
            left = until_ms * 1e6 - (time.monotonic_ns() - self._start)
            if left <= 0:
                return bool(poller.poll(0))
            if left > _SPIN_NS + 1_000_000:
                if poller.poll(int((left - _SPIN_NS) / 1e6)):
                    return True
            elif left > _SPIN_NS:
                if select.select([descriptor], [], [], (left - _SPIN_NS) / 1e9)[0]:
                    return True
            elif poller.poll(0):
                return True
