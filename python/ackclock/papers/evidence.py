"""What we can hold against a claim, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ackclock.papers.claims import Claim
from ackclock.papers.tolerance import read_tolerance
from ackclock.statistics import Interval

Verdict = Literal["holds", "fails", "calibration", "not_tested"]


class Unobservable(Exception):
    """A figure that is not to be had where it was asked for, and why."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Our side of one claim.

    ``ours`` is in the unit the paper prints. ``holds`` is the evaluator's own judgement, for orderings and
    inequalities; it is None where the claim's tolerance decides. ``ns2`` holds the independent simulator's values by
    network, in the same unit. ``also`` holds the same claim on variants of the network, by name; they inform and never decide.
    ``decidable`` is False where the figure is one measurement's own: ours is shown, and the claim gets no verdict.
    """

    ours: Interval | None
    why: str
    holds: bool | None = None
    ns2: Mapping[str, float] = field(default_factory=dict)
    case: str = ""
    by: Literal["simulation", "arithmetic", "measurement"] = "simulation"
    also: Mapping[str, Interval] = field(default_factory=dict)
    decidable: bool = True


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A claim with its verdict and the sentence that explains it."""

    claim: Claim
    verdict: Verdict
    why: str
    evidence: Evidence | None = None
    ns2_agrees: bool | None = None

    @property
    def gated(self) -> bool:
        """A verdict that counts: not on a figure that only the paper's own network can give."""
        return self.verdict in ("holds", "fails") and self.claim.network_bound != "yes"

    def as_json(self) -> dict[str, object]:
        """One entry of the ``claims`` list of ``reproduce``'s JSON document."""
        quantity = self.claim.quantity()
        found = self.evidence
        ours = found.ours if found else None
        out: dict[str, object] = {
            "id": self.claim.id,
            "where": self.claim.where,
            "metric": self.claim.metric,
            "scenario": self.claim.scenario,
            "variant": self.claim.variant,
            "parameters": self.claim.parameters,
            "paper_value": self.claim.value,
            "paper_number": quantity.value if quantity else None,
            "unit": quantity.unit if quantity else "",
            "ours": _brief(ours) if ours else None,
            "tolerance": self.claim.tolerance,
            "verdict": self.verdict,
            "gated": self.gated,
            "by": found.by if found else None,
            "ns2_agrees": self.ns2_agrees,
            "why": self.why,
        }
        if found and found.ns2:
            out["ns2"] = dict(found.ns2)
        if found and found.also:
            out["also"] = {name: _brief(value) for name, value in found.also.items()}
        return out


def _brief(found: Interval) -> dict[str, object]:
    document = found.as_json()
    del document["sd"]
    return document


Evaluate = Callable[[Claim], Evidence]
"""Looks at one claim and returns our side of it."""


def judge(claim: Claim, evaluate: Evaluate | None, untested: str, calibrated: str = "") -> ClaimResult:
    """The verdict on one claim.

    Doubtful figures and configuration are never judged, whatever an evaluator would say; a claim without an
    evaluator is ``not_tested`` because of ``untested``, and one that set something up is ``calibration`` because of ``calibrated``.
    """
    if claim.do_not_gate:
        return ClaimResult(claim, "not_tested", f"do not gate: {claim.tolerance_reason}")
    if claim.is_configuration:
        return ClaimResult(claim, "calibration", "a setting of the paper's experiment, not an outcome: agreeing proves nothing")
    if evaluate is None:
        return ClaimResult(claim, "calibration", calibrated) if calibrated else ClaimResult(claim, "not_tested", untested)
    try:
        found = evaluate(claim)
    except Unobservable as why:
        return ClaimResult(claim, "not_tested", f"not to be observed: {why}")
    if calibrated:
        return ClaimResult(claim, "calibration", calibrated, found)
    if not found.decidable:
        return ClaimResult(claim, "not_tested", found.why, found)
    holds = found.holds if found.holds is not None else _within(claim, found)
    return ClaimResult(claim, "holds" if holds else "fails", found.why, found, _ns2_agrees(found))


def _within(claim: Claim, found: Evidence) -> bool:
    quantity = claim.quantity()
    if quantity is None or found.ours is None:
        raise ValueError(f"{claim.id} has no number to compare; its evaluator must judge it")
    return read_tolerance(claim.tolerance, found.case).admits(found.ours.mean, quantity)


NS2_SPREAD = 0.10
"""How far beyond ns-2's values on its networks ours may lie and still count as agreeing, as a fraction."""


def _ns2_agrees(found: Evidence) -> bool | None:
    """Whether *our* value lies within 10 % of the spread of ns-2's over its networks, the paper left aside; None without one."""
    if not found.ns2 or found.ours is None:
        return None
    low, high = min(found.ns2.values()), max(found.ns2.values())
    return low * (1.0 - NS2_SPREAD) <= found.ours.mean <= high * (1.0 + NS2_SPREAD)
