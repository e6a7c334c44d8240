"""A link as other emulators know one: in each direction one queue, one rate, one delay, one loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any

from ackclock.input.link.framing import Atm
from ackclock.input.link.hop import DIRECTIONS, Direction, Hop
from ackclock.input.link.loss import Bernoulli, Loss
from ackclock.input.link.queue import Queue
from ackclock.input.link.rate import TraceRate
from ackclock.input.units import show_rate


@dataclass
class Line:
    """One direction of a whole link. `missing` collects what got lost on the way here, a sentence each.

    ``delay`` in ps, ``rate`` in bits/s or recorded; None is unlimited.
    """

    way: str
    delay: int = 0
    rate: int | TraceRate | None = None
    queue: Queue | None = None
    loss: Loss | None = None
    jitter: Any = None
    duplicate: float = 0.0
    missing: list[str] = field(default_factory=list)

    def lacks(self, hop: str, what: str) -> None:
        self.missing.append(f"{self.way}, {hop}: {what}")


def lines_of(hops: Sequence[Hop]) -> dict[str, Line]:
    """Both directions of a link, each as one line with the slowest hop's queue and rate."""
    return {way: _line(way, [(hop, side) for hop in hops if (side := getattr(hop, way))]) for way in DIRECTIONS}


def _line(way: str, sides: Sequence[tuple[Hop, Direction]]) -> Line:
    line = Line(way, delay=sum(side.delay for _, side in sides))
    slowest = min(sides, key=lambda one: _mean_bps(way, *one), default=None)
    for hop, side in sides:
        if (hop, side) == slowest:
            _take_queue(line, hop, side)
        elif (bps := _mean_bps(way, hop, side)) < inf:
            line.lacks(hop.name, f"a second queue, at {show_rate(round(bps))}: only the slowest hop's is kept")
        elif side.queue is not None and side.queue.ack is not None:
            line.lacks(hop.name, "what this queue does to ACKs: only the slowest hop's queue is kept")
        _take_rest(line, hop, side)
    line.loss = _one_loss(line, sides)
    line.duplicate = 1 - prod(1 - side.duplicate.mean for _, side in sides if side.duplicate)
    return line


def _mean_bps(way: str, hop: Hop, side: Direction) -> float:
    if isinstance(side.rate, TraceRate):
        return side.rate.recording.mean_bps()
    return hop.slowest_bps(way) or inf


def _take_queue(line: Line, hop: Hop, side: Direction) -> None:
    line.queue, line.rate = side.queue, side.rate
    if hop.medium:
        line.rate = hop.medium.nominal_bps(line.way)
        at = f"its best rate, {show_rate(line.rate)}, stands for it" if line.rate else "no rate stands for it"
        line.lacks(hop.name, f"a medium ({hop.medium.kind}), which is more than a rate: {at}")
    if hop.has_stations():
        line.lacks(hop.name, "a queue and a rate for each client: all clients share one")


def _take_rest(line: Line, hop: Hop, side: Direction) -> None:
    if isinstance(side.framing, Atm):
        line.lacks(hop.name, "ATM cells: packets are sent as they are")
    elif side.framing != "none":
        line.lacks(hop.name, f"{side.framing} framing: headers are sent whole")
    if side.handover:
        line.lacks(hop.name, "handovers: the path stays the same")
    if hop.pep:
        line.lacks(hop.name, "a proxy: connections are not split")
    if side.outage:
        line.lacks(hop.name, f"{len(side.outage)} scheduled outages")
    if side.reorder:
        line.lacks(hop.name, "packets held back to be overtaken")
    if side.reconstruct:
        line.lacks(hop.name, "ACKs put in again")
    if side.jitter and line.jitter:
        line.lacks(hop.name, "a second jitter")
    line.jitter = line.jitter or side.jitter


def _one_loss(line: Line, sides: Iterable[tuple[Hop, Direction]]) -> Loss | None:
    """Independent losses together; of others the first, as no emulator takes two."""
    losses = [(hop, side.loss) for hop, side in sides if side.loss]
    kept = next((loss for _, loss in losses if not isinstance(loss, Bernoulli)), None)
    if kept is None and losses:
        lost = 1 - prod(1 - loss.mean for _, loss in losses if isinstance(loss, Bernoulli))
        return Bernoulli(kind="bernoulli", mean=lost)
    for hop, loss in losses:
        if loss is not kept:
            line.lacks(hop.name, f"a second loss ({loss.kind})")
    return kept
