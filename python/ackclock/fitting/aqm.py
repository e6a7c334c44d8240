"""The kind of a queue that drops below the backlogs that it accepts: replays of the input over
links with each kind of AQM, beside droptail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ackclock.fitting.parameters import HOP, Parameter
from ackclock.fitting.prediction import CANDIDATES, Transfers, first_alike, misfit
from ackclock.format import percent

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
class Level:
    """The target of an AQM in ms: that of the best replays, and the range of those as good."""

    target: float
    lo: float
    hi: float

    @property
    def is_identified(self) -> bool:
        return self.hi <= MAX_RATIO * self.lo


@dataclass(frozen=True)
class QueueKind:
    """The kind of queue that replays the input best.

    Misfits are those of the best variant; `droptail` is that of the droptail queue.
    """

    kind: str
    misfit: float
    droptail: float
    level: Level

    @property
    def is_clear(self) -> bool:
        """The replays are like the input, and clearly better than with droptail."""
        return _is_clear(self.misfit, self.droptail)

    def parameters(self, direction: str) -> list[Parameter]:
        """The kind and its level as rows of the document."""
        text = (
            f"replays of the input differ by {percent(self.misfit)} in goodput, p95 RTT and retransmissions together, "
            f"with droptail by {percent(self.droptail)}"
        )
        path, method = f"hop.{HOP}.queue.{direction}", "replays of the input"
        level = self.level
        why = "" if level.is_identified else "replays with other targets are as like the input"
        target = Parameter(
            f"{path}.target",
            "ms",
            "identified" if level.is_identified else "bounded",
            f"{method} over a grid of targets",
            "median and p95 of the RTT under a standing load",
            value=level.target if level.is_identified else None,
            lo=level.lo,
            hi=level.hi,
            used=level.target,
            why=why,
        )
        return [Parameter(f"{path}.kind", "", "assumed", method, text, kind=self.kind), target]

    def queue(self) -> dict[str, Any]:
        """As a queue of a link file."""
        target = self.level.target
        return (
            {"kind": self.kind} if target == DEFAULT_MS[self.kind] else {"kind": self.kind, "target": f"{target:g} ms"}
        )


def recognise(link: Mapping[str, Any], seen: Transfers, variant: str | None, *, flow_queues: bool) -> QueueKind:
    """The kind of queue in the direction of the transfers.

    Args:
        link: the fitted link with a droptail queue.
        seen: the transfers of the input.
        variant: the sender's congestion control, if it is known.
        flow_queues: flows overtake each other.
    """
    replay = seen.replay()
    # One flow does not show whether flows have queues of their own; those of Linux have.
    kinds = ("fq-codel" if flow_queues or seen.flows == 1 else "codel", "pie")

    def best(hop: Mapping[str, Any]) -> tuple[float, str]:
        misfits = {
            name: misfit(replay.simulated({"hop": [hop]}, name, [1]), seen.observed)
            for name in ([variant] if variant else CANDIDATES)
        }
        chosen = first_alike(misfits)
        return misfits[chosen], chosen

    (hop,) = link["hop"]
    droptail, _ = best(hop)
    tried = {kind: best(_with_queue(hop, seen.direction, {"kind": kind})) for kind in kinds}

    def of(kind: str, target: float) -> tuple[float, float]:
        """The misfit of a target, and that of the median RTT, which a standing load pins."""
        queue = {"kind": kind, "target": f"{target:g} ms"}
        simulated = replay.simulated({"hop": [_with_queue(hop, seen.direction, queue)]}, tried[kind][1], SEEDS)
        return misfit(simulated, seen.observed), abs(simulated.rtt_p50_ms / seen.observed.rtt_p50_ms - 1)

    # A target far from the default is like no kind at its default, or like another kind.
    levels = {kind: {target: of(kind, target) for target in LEVELS_MS[kind]} for kind in kinds}
    best_of = {kind: min(levels[kind].values())[0] for kind in kinds}
    kind = next(kind for kind in kinds if best_of[kind] <= min(best_of.values()) + AS_GOOD)
    return QueueKind(kind, best_of[kind], droptail, _level(kind, levels[kind]))


def _level(kind: str, misfits: Mapping[float, tuple[float, float]]) -> Level:
    """The target whose replays have the delay of the input."""
    totals = {target: sum(both) for target, both in misfits.items()}
    lowest = min(totals.values())
    good = [target for target, total in totals.items() if total <= lowest + AS_GOOD]
    default = DEFAULT_MS[kind]
    best = default if default in good else min(good, key=lambda target: totals[target])
    # Up to the neighbours that are not as good.
    return Level(best, min(good) / 2, max(good) * 2)


def _is_clear(found: float, droptail: float) -> bool:
    """Replays are like the input, and clearly better than with droptail."""
    return found <= MAX_MISFIT and found <= CLEARLY_BETTER * droptail


def _with_queue(hop: Mapping[str, Any], direction: str, queue: Mapping[str, Any]) -> dict[str, Any]:
    return {**hop, "queue": {**hop["queue"], direction: dict(queue)}}


def with_kind(link: Mapping[str, Any], direction: str, kind: QueueKind) -> dict[str, Any]:
    """The link with this kind of queue, without a limit of its own, in one direction."""
    (hop,) = link["hop"]
    return {**link, "hop": [_with_queue(hop, direction, kind.queue())]}


def without_limit(parameters: list[Parameter], direction: str) -> list[Parameter]:
    """The parameters with no default for the limit of this direction's queue."""
    path = f"hop.{HOP}.queue.{direction}.bytes"
    return [replace(row, used=None) if row.path == path else row for row in parameters]
