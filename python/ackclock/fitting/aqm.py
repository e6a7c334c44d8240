"""The kind of a queue that drops below the backlogs that it accepts: replays of the input over
links with each kind of AQM, beside droptail.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ackclock.fitting.hop import FittedHop
from ackclock.fitting.parameters import Interval, Parameter
from ackclock.fitting.prediction import CANDIDATES, Transfers, first_alike, misfit
from ackclock.format import percent
from ackclock.input.objects import Queue

MAX_MISFIT = 0.35
"""Sum of the errors up to which a replay is like the input: those of goodput and RTT, and a fifth
of the logarithm of the ratio of retransmissions."""
CLEARLY_BETTER = 0.5
"""Maximum ratio of the misfits of a kind and of droptail."""
LEVELS_MS = {"fq-codel": (2.5, 5, 10, 20, 40), "codel": (2.5, 5, 10, 20, 40), "pie": (7.5, 15, 30, 60)}
"""Targets that are tried: the default, half of it, and its doubles."""
DEFAULT_MS = {"fq-codel": 5.0, "codel": 5.0, "pie": 15.0}
AS_GOOD = 0.03
"""Difference of misfits up to which a repeat may be the reason."""
MAX_RATIO = 4.0
"""Maximum ratio of the ends of the interval of a level that is identified."""
SEEDS = (1, 2)


@dataclass(frozen=True)
class QueueKind:
    """The kind of queue that replays the input best.

    Misfits are those of the best variant; `droptail` is that of the droptail queue.
    """

    kind: str
    misfit: float
    droptail: float
    target: Interval
    """In ms: that of the best replays, and the range of those as good."""
    other: str = ""
    """Another kind whose replays are as like the input."""

    @property
    def is_clear(self) -> bool:
        """The replays are like the input, and clearly better than with droptail."""
        return self.misfit <= MAX_MISFIT and self.misfit <= CLEARLY_BETTER * self.droptail

    def parameters(self, hop: FittedHop, direction: str) -> list[Parameter]:
        """The kind and its target as rows of the document."""
        text = (
            f"replays of the input differ by {percent(self.misfit)} in goodput, p95 RTT and retransmissions together, "
            f"with droptail by {percent(self.droptail)}"
        )
        path, method = hop.queue_path(direction), "replays of the input"
        wide = "replays with other targets are as like the input" if self.target.hi > MAX_RATIO * self.target.lo else ""
        why = f"replays with {self.other} are as like the input" if self.other else wide
        target = Parameter.within(
            f"{path}.target",
            "ms",
            f"{method} over a grid of targets",
            "median and p95 of the RTT under a standing load",
            self.target,
            why=why,
        )
        return [Parameter(f"{path}.kind", "", "assumed", method, text, kind=self.kind), target]

    def hop(self, hop: FittedHop, direction: str) -> FittedHop:
        """The hop with this kind of queue, without a limit of its own, in one direction."""
        target = self.target.value
        return with_kind(hop, direction, self.kind, None if target == DEFAULT_MS[self.kind] else target)


def recognise(hop: FittedHop, seen: Transfers, variant: str | None, *, flow_queues: bool) -> QueueKind:
    """The kind of queue in the direction of the transfers.

    Args:
        hop: the fitted hop with a droptail queue.
        seen: the transfers of the input.
        variant: the sender's congestion control, if it is known.
        flow_queues: flows overtake each other.
    """
    replay = seen.replay()
    # One flow does not show whether flows have queues of their own; those of Linux have.
    kinds = ("fq-codel" if flow_queues or seen.flows == 1 else "codel", "pie")

    def best(hop: FittedHop) -> tuple[float, str]:
        misfits = {
            name: misfit(replay.simulated(hop.link(), name, [1]), seen.observed)
            for name in ([variant] if variant else CANDIDATES)
        }
        chosen = first_alike(misfits)
        return misfits[chosen], chosen

    droptail, _ = best(hop)
    if droptail <= AS_GOOD:
        # No kind is clearly better than one that a repeat explains.
        return QueueKind(kinds[0], math.inf, droptail, Interval(*[DEFAULT_MS[kinds[0]]] * 3))
    tried = {kind: best(with_kind(hop, seen.direction, kind)) for kind in kinds}

    def of(kind: str, target: float) -> tuple[float, float]:
        """The misfit of a target, and that of the median RTT, which a standing load pins."""
        link = with_kind(hop, seen.direction, kind, target).link()
        simulated = replay.simulated(link, tried[kind][1], SEEDS)
        return misfit(simulated, seen.observed), abs(simulated.rtt_p50_ms / seen.observed.rtt_p50_ms - 1)

    # A target far from the default is like no kind at its default, or like another kind.
    levels = {kind: {target: of(kind, target) for target in LEVELS_MS[kind]} for kind in kinds}
    best_of = {kind: min(levels[kind].values())[0] for kind in kinds}
    kind = next(kind for kind in kinds if best_of[kind] <= min(best_of.values()) + AS_GOOD)
    other = next((name for name in kinds if name != kind and _is_as_like(best_of[name], best_of[kind])), "")
    return QueueKind(kind, best_of[kind], droptail, _target(kind, levels[kind]), other)


def _is_as_like(other: float, best: float) -> bool:
    """A kind whose replays are like the input, and not clearly less so than the best one's.

    >>> [_is_as_like(other, 0.08) for other in (0.1, 0.13, 0.3, 0.5)]
    [True, True, False, False]
    """
    return other <= best + AS_GOOD or (other <= MAX_MISFIT and best > CLEARLY_BETTER * other)


def _target(kind: str, misfits: Mapping[float, tuple[float, float]]) -> Interval:
    """The target whose replays have the delay of the input."""
    totals = {target: sum(both) for target, both in misfits.items()}
    lowest = min(totals.values())
    good = [target for target, total in totals.items() if total <= lowest + AS_GOOD]
    default = DEFAULT_MS[kind]
    best = default if default in good else min(good, key=lambda target: totals[target])
    # Up to the neighbours that are not as good.
    return Interval(best, min(good) / 2, max(good) * 2)


def with_kind(hop: FittedHop, direction: str, kind: str, target_ms: float | None = None) -> FittedHop:
    """The hop with this kind of queue in one direction; its default target without one."""
    return hop.with_queue(direction, Queue(kind=kind, target=None if target_ms is None else f"{target_ms:g} ms"))


def without_limit(parameters: list[Parameter], hop: FittedHop, direction: str) -> list[Parameter]:
    """The parameters with no default for the limit of this direction's queue."""
    path = f"{hop.queue_path(direction)}.bytes"
    return [replace(row, used=None) if row.path == path else row for row in parameters]
