"""The kind of a queue that drops below the backlogs that it accepts: replays of the input over
links with each kind of AQM, beside droptail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ackclock.fitting.parameters import HOP, Parameter
from ackclock.fitting.prediction import CANDIDATES, Replay, Transfers, misfit
from ackclock.format import percent

MAX_MISFIT = 0.35
"""Sum of the errors up to which a replay is like the input: those of goodput and RTT, and a fifth
of the logarithm of the ratio of retransmissions."""
CLEARLY_BETTER = 0.5
"""Maximum ratio of the misfits of a kind and of droptail."""


@dataclass(frozen=True)
class QueueKind:
    """The kind of queue that replays the input best.

    Misfits are those of the best variant; `droptail` is that of the droptail queue.
    """

    kind: str
    misfit: float
    droptail: float

    @property
    def is_clear(self) -> bool:
        """The replays are like the input, and clearly better than with droptail."""
        return self.misfit <= MAX_MISFIT and self.misfit <= CLEARLY_BETTER * self.droptail

    def parameter(self, direction: str) -> Parameter:
        """The kind as a row of the document."""
        text = (
            f"replays of the input differ by {percent(self.misfit)} in goodput, p95 RTT and retransmissions together, "
            f"with droptail by {percent(self.droptail)}"
        )
        return Parameter(
            f"hop.{HOP}.queue.{direction}.kind", "", "assumed", "replays of the input", text, kind=self.kind
        )


def recognise(link: Mapping[str, Any], seen: Transfers, *, flow_queues: bool) -> QueueKind:
    """The kind of queue in the direction of the transfers.

    Args:
        link: the fitted link with a droptail queue.
        seen: the transfers of the input.
        flow_queues: flows overtake each other.
    """
    replay = Replay(seen.direction, seen.flows, seen.duration_s, 0.0, seen.duration_s)
    # One flow does not show whether flows have queues of their own; those of Linux have.
    kinds = ("fq-codel" if flow_queues or seen.flows == 1 else "codel", "pie")

    def best(hop: Mapping[str, Any]) -> float:
        return min(misfit(replay.simulated({"hop": [hop]}, variant, [1]), seen.observed) for variant in CANDIDATES)

    (hop,) = link["hop"]
    droptail = best(hop)
    queues = {kind: {**hop, "queue": {**hop["queue"], seen.direction: {"kind": kind}}} for kind in kinds}
    misfits = {kind: best(with_kind) for kind, with_kind in queues.items()}
    kind = min(misfits, key=lambda name: misfits[name])
    return QueueKind(kind, misfits[kind], droptail)


def with_kind(link: Mapping[str, Any], direction: str, kind: str) -> dict[str, Any]:
    """The link with this kind of queue, without a limit of its own, in one direction."""
    (hop,) = link["hop"]
    return {**link, "hop": [{**hop, "queue": {**hop["queue"], direction: {"kind": kind}}}]}


def without_limit(parameters: list[Parameter], direction: str) -> list[Parameter]:
    """The parameters with no default for the limit of this direction's queue."""
    path = f"hop.{HOP}.queue.{direction}.bytes"
    return [replace(row, used=None) if row.path == path else row for row in parameters]
