"""What limits a situation's flows, and the changes that remove it: of changes that gain the same,
one that removes the cause is worth more than one that works around it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from ackclock._native import LimitFacts
from ackclock.advisor.action import Action
from ackclock.advisor.goals import BESIDE
from ackclock.simulation.harm import flow_key
from ackclock.simulation.limits import run_facts
from ackclock.simulation.plan import Plan
from ackclock.simulation.sparse_flow import SPARSE

if TYPE_CHECKING:
    from ackclock.documents.engine import Summary

MIN_SHARE = 0.05
"""Share of a flow's time from which on a limit is a cause."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A limit of a flow: its kind and cause (docs/evidence/limits.md), where it lies, its share of
    the time.
    """

    kind: str
    cause: str | None
    hop: str
    direction: str
    share: float


def causes_of(summaries: Iterable[Summary], plan: Plan) -> list[list[Cause]]:
    """The limits of each own TCP flow of a situation, by the means of its runs.

    `summaries` are of runs with the flows of `plan`.
    """
    facts: dict[str, list[LimitFacts]] = defaultdict(list)
    for summary in summaries:
        for name, of_flow in run_facts(summary, plan.document).items():
            if not name.startswith((SPARSE, BESIDE)):
                facts[name].append(of_flow)
    return [_causes(LimitFacts.mean(of_runs)) for of_runs in facts.values()]


def _causes(facts: LimitFacts) -> list[Cause]:
    """Loss recovery counts as the reduced cwnd after it: both have one cause."""
    back = "up" if facts.direction == "down" else "down"
    lost = facts.bottleneck if facts.loss == "mark" else facts.loss_hop
    places: Mapping[str, tuple[str | None, str, str]] = {
        "bottleneck": (None, facts.bottleneck, facts.direction),
        "ack_path": (None, facts.ack_hop, back),
        "receive_window": (facts.window_cap, "", ""),
        "cwnd": (facts.loss, lost, facts.direction),
    }
    shares = {**facts.shares, "cwnd": facts.shares.get("cwnd", 0.0) + facts.shares.get("recovery", 0.0)}
    return [
        Cause(kind, *places.get(kind, (None, "", "")), share)
        for kind, share in shares.items()
        if kind != "recovery" and share >= MIN_SHARE
    ]


def _changes(key: str) -> Callable[[Action, Cause], bool]:
    """Whether an action changes a key of the hosts whose name begins so, at any end."""
    return lambda action, _: any(
        flow_key(change.path) and change.path.rpartition(".")[2].startswith(key) for change in action.changes
    )


def _control(action: Action, _: Cause) -> bool:
    """Whether an action changes the congestion control."""
    return action.kind == "variant"


def _queue(action: Action, cause: Cause) -> bool:
    """Whether an action changes the queue of the limit's hop, or moves it to another."""
    moved = f"hop.sqm.queue.{cause.direction}"
    return action.kind == f"queue {cause.hop} {cause.direction}" or any(one.path == moved for one in action.changes)


def _bucket(action: Action, cause: Cause) -> bool:
    """Whether an action enlarges the policer's bucket, or lets packets wait before it."""
    return action.kind == f"policer {cause.hop} {cause.direction}" or action.kind == "shaper"


REMOVERS: Mapping[tuple[str, str | None], Callable[[Action, Cause], bool]] = {
    ("bottleneck", None): _queue,
    ("ack_path", None): _queue,
    ("receive_window", "buffer"): _changes("receive_"),
    ("receive_window", "autotuning"): _changes("receive_"),
    ("receive_window", "scaling"): _changes("window_scaling"),
    ("send_buffer", None): _changes("send_"),
    ("cwnd", "overflow"): _queue,
    ("cwnd", "policer"): _bucket,
    ("cwnd", "mark"): _queue,
    ("cwnd", "channel"): _control,
    ("cwnd", "none"): _changes("initial_window"),
    ("pacing", None): _control,
}
"""The kind of action that removes a limit, by the limit's kind and cause. None removes a limit of
the application.
"""


def removed_share(actions: Sequence[Action], flows: Sequence[Sequence[Cause]]) -> float:
    """The share of the time, mean over the flows, of the limits that actions remove."""

    def is_removed(cause: Cause) -> bool:
        remover = REMOVERS.get((cause.kind, cause.cause))
        return remover is not None and any(remover(action, cause) for action in actions)

    return fmean(sum(one.share for one in causes if is_removed(one)) for causes in flows) if flows else 0.0
