"""How a case breaks: what limits the flow that it is about, the events of its loss recovery, and
the parts of the link that the case needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.format import joined, many
from ackclock.hunting.objectives import HuntRun, Objective, is_of
from ackclock.hunting.space import Choice, Losses, Settings, Space, shown_text
from ackclock.simulation.metrics import together_bps

if TYPE_CHECKING:
    from ackclock.documents.simulate import SimulatedFlow

NAMED_NEEDS = 4
"""Settings that a sentence names."""


@dataclass(frozen=True)
class Mechanism:
    """How a case breaks.

    Attributes:
        flow: the flow that it is about.
        variant: its congestion control.
        limit: the kind of its limit (`ackclock.limit_words.KINDS`); None without packets.
        cause: of the limit; None without one.
        event: "timeouts", "fast_retransmits" or "none": the costliest event of its loss recovery.
        parts: the choices (but that of the variant) and loss lists that the case needs, by path.
        why: what limits the flow, a sentence.
        events: the events in words.
    """

    flow: str
    variant: str
    limit: str | None
    cause: str | None
    event: str
    parts: tuple[str, ...]
    why: str
    events: str

    @property
    def kind(self) -> tuple[object, ...]:
        """What cases of one mechanism have in common, whatever the congestion control."""
        return self.limit, self.event, self.parts


def signature(run: HuntRun, objective: Objective) -> str:
    """What a case must keep of its mechanism while it is made simple: the limit of the flow that it
    is about, the limit's cause, and the costliest event of its loss recovery. Empty for an
    objective in Python, which may be about anything.
    """
    if objective.file is not None:
        return ""
    flow = _victim(run, objective)
    limit = flow["limit"]
    return " ".join([*((limit["kind"], limit["cause"] or "") if limit else ("none", "")), _costliest(flow)])


def _costliest(flow: SimulatedFlow) -> str:
    return "timeouts" if flow["timeouts"] else "fast_retransmits" if flow["fast_retransmits"] else "none"


def mechanism(run: HuntRun, objective: Objective, space: Space, settings: Settings, needs: Sequence[str]) -> Mechanism:
    """The mechanism of a case that needs these leaves."""
    flow = _victim(run, objective)
    limit = flow["limit"]
    parts = [
        f"{name}={settings[name]}" if isinstance(space.leaves[name], Choice) else name
        for name in needs
        if isinstance(space.leaves[name], Choice | Losses) and not name.endswith("variant")
    ]
    return Mechanism(
        flow["flow"],
        flow["variant"],
        limit["kind"] if limit else None,
        limit["cause"] if limit else None,
        _costliest(flow),
        tuple(sorted(parts)),
        flow["why"] or "No packet arrived.",
        _events(flow),
    )


def _victim(run: HuntRun, objective: Objective) -> SimulatedFlow:
    """The flow that a case is about: the objective's, else the slowest TCP flow, else the first."""
    named = [one for one in run.summary["flows"] if objective.flow and is_of(one["flow"], objective.flow)]
    flows = named or run.flows(None) or run.summary["flows"]
    return min(flows, key=lambda one: together_bps([one]) if one["goodput_bps"] is not None else -1.0)


def _events(flow: SimulatedFlow) -> str:
    counts = [
        many(flow["timeouts"], "timeout"),
        many(flow["fast_retransmits"], "fast retransmit"),
        many(flow["window_cuts"], "cut") + " of the window",
    ]
    return joined([text for text in counts if not text.startswith("0 ")] or ["no loss"])


def needs_text(space: Space, settings: Settings, point: Mapping[str, object], needs: Sequence[str]) -> list[str]:
    """What a case needs that the simplest case has not, each as `key value`, by searched key."""
    texts = []
    for path, node in space.keys.items():
        inside = {leaf.name for leaf in Space({path: node}).leaves.values()}
        if inside & set(needs):
            texts.append(f"{path} {shown_text(point[path])}")
    return texts
