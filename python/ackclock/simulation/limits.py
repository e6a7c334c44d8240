"""What limits each flow of a run: one decision, from the account of the hops' time and the sender's
own account (docs/evidence/limits.md). The decision and its sentences are the engine's
(crates/diagnose/src/limit), so that the lab page has them, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ackclock import _native
from ackclock._native import LimitFacts
from ackclock.format import sentence
from ackclock.simulation.throughput import with_models

if TYPE_CHECKING:
    from ackclock.documents.engine import FlowLimit as LimitDocument
    from ackclock.documents.engine import Summary
    from ackclock.documents.simulate import ExplainedRun


@dataclass(frozen=True, slots=True)
class FlowLimit:
    """What limits a flow, or the flows of several runs on average, in the words of the documents.

    Attributes:
        shares: `limits`: share of the flow's time by kind (`ackclock.limit_words.KINDS`).
        document: `limit`.
        clause: the limit and its evidence, a sentence without its capital letter and full stop.
    """

    shares: Mapping[str, float]
    document: LimitDocument
    clause: str

    @property
    def why(self) -> str:
        """`why`: the clause as a sentence."""
        return f"{sentence(self.clause)}."


def explained(summary: Summary, plan: Mapping[str, Any]) -> ExplainedRun:
    """Add to every flow of a run's summary the throughput models (`with_models`) and what limits
    it: `limits`, `limit` and `why`, None without packets.

    `plan` is that of the run (docs/inside/plan.md).
    """
    run = cast("ExplainedRun", summary)
    with_models(run, plan["flows"])
    for flow, of in zip(run["flows"], _native.explain_limits(summary, plan), strict=True):
        flow["limits"], flow["limit"], flow["why"] = of["limits"], of["limit"], of["why"]
    return run


def run_facts(summary: Summary, plan: Mapping[str, Any]) -> dict[str, LimitFacts]:
    """The figures of each TCP flow with packets, by the flow's name."""
    return _native.limit_facts(summary, plan, connections=False)


def connection_facts(summary: Summary, plan: Mapping[str, Any]) -> dict[str, LimitFacts]:
    """The figures of each TCP connection, by the name of its last part.

    A connection that proxies split has those of its last part, or of the part before if the proxy
    has nothing to forward.
    """
    return _native.limit_facts(summary, plan, connections=True)


def decide(facts: LimitFacts) -> FlowLimit:
    """The limit with the largest share of the time, with its evidence."""
    document = facts.decide()
    clause = document.pop("why")
    return FlowLimit(facts.shares, cast("LimitDocument", document), clause)
