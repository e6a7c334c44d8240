"""Evidence for a claim, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ackclock.papers.claims import Claim
from ackclock.papers.tolerance import read_tolerance
from ackclock.statistics import Interval

if TYPE_CHECKING:
    from ackclock.papers.documents import ClaimDocument, ShownFigure

Verdict = Literal["holds", "fails", "calibration", "not_tested"]
By = Literal["simulation", "arithmetic", "measurement", "configuration"]
"""Origin of our figure: a simulated run, arithmetic on the paper's own numbers, real traffic, or
nothing but the setting that the claim is.
"""


class Unobservable(Exception):
    """A figure that cannot be observed, with the reason."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Our result for a claim.

    ``ours`` is in the paper's unit. ``holds`` is the evaluator's verdict for orderings and
    inequalities; None if the claim's tolerance decides. ``ns2`` has ns-2's values by network, in
    the same unit. ``also`` has results on variants of the network, by name, for information.
    ``decidable`` is False for a figure of one particular measurement: ours is shown, without a
    verdict.
    """

    ours: Interval | None
    why: str
    holds: bool | None = None
    ns2: Mapping[str, float] = field(default_factory=dict)
    case: str = ""
    by: By = "simulation"
    also: Mapping[str, Interval] = field(default_factory=dict)
    decidable: bool = True


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A claim with its verdict and the reason. ``unless`` names the readings of an ensemble with
    which the verdict is the opposite.
    """

    claim: Claim
    verdict: Verdict
    why: str
    evidence: Evidence | None = None
    ns2_agrees: bool | None = None
    unless: tuple[str, ...] = ()

    @property
    def by(self) -> By | None:
        """Origin of our figure; None for a claim without one."""
        if self.claim.is_configuration:
            return "configuration"
        return self.evidence.by if self.evidence else None

    @property
    def simulated(self) -> bool:
        """Whether it is a simulated claim that holds or fails."""
        return self.by == "simulation" and self.verdict in ("holds", "fails")

    @property
    def gated(self) -> bool:
        """Whether the verdict counts: the figure does not depend on the paper's own network."""
        return self.verdict in ("holds", "fails") and self.claim.network_bound != "yes"

    def as_json(self) -> ClaimDocument:
        """One entry of the ``claims`` list of ``reproduce``'s JSON document."""
        quantity = self.claim.quantity()
        found = self.evidence
        ours = found.ours if found else None
        out: ClaimDocument = {
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
            "by": self.by,
            "ns2_agrees": self.ns2_agrees,
            "why": self.why,
        }
        if self.unless:
            out["unless"] = list(self.unless)
        if found and found.ns2:
            out["ns2"] = dict(found.ns2)
        if found and found.also:
            out["also"] = {name: _brief(value) for name, value in found.also.items()}
        return out


def _brief(found: Interval) -> ShownFigure:
    whole = found.as_json()
    out: ShownFigure = {"mean": whole["mean"], "lo": whole["lo"], "hi": whole["hi"], "n": whole["n"]}
    if modes := whole.get("modes"):
        out["modes"] = modes
    if values := whole.get("values"):
        out["values"] = values
    return out


Evaluate = Callable[[Claim], Evidence]
"""Returns our result for a claim."""


def judge(
    claim: Claim, evaluate: Evaluate | None, untested: str, calibrated: str = "", contradiction: str = ""
) -> ClaimResult:
    """The verdict on one claim.

    Settings and doubtful figures have no verdict; ours stands beside the latter, if an evaluator
    finds one. A claim without an evaluator is ``not_tested``
    with the reason ``untested``; a claim that the experiment was calibrated on is ``calibration``
    with the reason ``calibrated``; a claim on which the paper contradicts itself is ``not_tested``
    with the reason ``contradiction``.
    """
    ungated = f"do not gate: {claim.tolerance_reason}" if claim.do_not_gate else ""
    if ungated and evaluate is None:
        return ClaimResult(claim, "not_tested", ungated)
    if claim.is_configuration:
        return ClaimResult(
            claim, "calibration", "a setting of the paper's experiment, not a result: agreement proves nothing"
        )
    if evaluate is None:
        return (
            ClaimResult(claim, "calibration", calibrated) if calibrated else ClaimResult(claim, "not_tested", untested)
        )
    try:
        found = evaluate(claim)
    except Unobservable as why:
        return ClaimResult(claim, "not_tested", f"not observable: {why}")
    if ungated:
        return ClaimResult(claim, "not_tested", f"{ungated}. Ours: {found.why}", found)
    if calibrated:
        return ClaimResult(claim, "calibration", calibrated, found)
    if contradiction:
        return ClaimResult(claim, "not_tested", f"{contradiction}. Ours: {found.why}", found)
    if not found.decidable:
        return ClaimResult(claim, "not_tested", found.why, found)
    holds = found.holds if found.holds is not None else _within(claim, found)
    return ClaimResult(claim, "holds" if holds else "fails", found.why, found, _ns2_agrees(found))


def _within(claim: Claim, found: Evidence) -> bool:
    quantity = claim.quantity()
    if quantity is None or found.ours is None:
        raise ValueError(f"{claim.id} has no number to compare; its evaluator must return `holds`")
    return read_tolerance(claim.tolerance, found.case).admits(found.ours.mean, quantity)


NS2_NETWORK = "V1"
"""The first network on which ns-2 was run (``asymmetry``)."""
NS2_SPREAD = 0.10
"""Maximum distance of ours from ns-2's values for agreement, as a fraction."""


def _ns2_agrees(found: Evidence) -> bool | None:
    """Whether our value on ns-2's first network is within 10 % of the range of ns-2's over its
    networks; None without ns-2's values.
    """
    if not found.ns2 or found.ours is None:
        return None
    low, high = min(found.ns2.values()), max(found.ns2.values())
    ours = found.also.get(NS2_NETWORK, found.ours)
    return low * (1.0 - NS2_SPREAD) <= ours.mean <= high * (1.0 + NS2_SPREAD)
