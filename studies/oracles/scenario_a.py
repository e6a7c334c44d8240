"""ns-2's scenario A: one flow and a droptail buffer of B packets, without other loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from studies.oracles.agreement import Check, Figure
from studies.oracles.ns2 import LINUX_OTHERS, LINUX_RENO, Sender, dumbbell, ns2_series, our_run, our_series

STEADY_S = (20.0, 60.0)


@dataclass(frozen=True)
class Row:
    """A buffer in packets, and how far goodput and mean queue may lie apart."""

    sender: Sender
    buffer: int
    goodput: float = 0.03
    queue: float = 0.10

    @property
    def case(self) -> str:
        return f"A {self.sender.name}, B = {self.buffer}"


BUFFERS = (118, 30, 470)
ROWS = (
    *(Row(LINUX_RENO, buffer) for buffer in BUFFERS),
    *(Row(sender, buffer, 0.05, 0.15) for sender in LINUX_OTHERS for buffer in BUFFERS),
)
"""A new variant is new rows."""


def checks(oracles: Path) -> list[Check]:
    return [Check(row.case, partial(figures, row, oracles)) for row in ROWS]


def figures(row: Row, oracles: Path) -> Sequence[Figure]:
    ours = our_series(our_run(dumbbell(row.sender, row.buffer, "60 s", "100 ms")))
    oracle = ns2_series(oracles, f"a_{row.sender.name}_buf{row.buffer}_da0")
    rates = (ours.goodput_bps(*STEADY_S) / 1e6, oracle.goodput_bps(*STEADY_S) / 1e6)
    queues = (ours.mean_queue(*STEADY_S), oracle.mean_queue(*STEADY_S))
    return [
        Figure(row.case, "steady goodput", rates[0], rates[1], row.goodput, unit="Mb/s"),
        Figure(row.case, "steady mean queue", queues[0], queues[1], row.queue, unit="packets"),
    ]
