"""Standings: in what sense a simulated claim holds or fails, for counts that keep apart what proves
much and what proves little.

A claim that holds in each crude model of its link, too (``<paper>/crude.csv``, written by
``make crude``), does not need the model that it holds in. A claim over a medium in frames is
judged over an ensemble: the paper's choices and every alternative reading that changes nothing but
jitter. It holds if it holds with more than half of them; ``ClaimResult.unless`` names those with
which the verdict is the opposite. A failing claim is in the class of its cause (`causes`).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Literal, get_args

from ackclock.papers.causes import PAGE, Cause, cause_of
from ackclock.papers.evidence import ClaimResult, Verdict
from ackclock.papers.readings import outcomes, readings_of

Standing = Literal["holds", "holds_crude", "shown", "suggested", "other_reading", "unexplained"]
CrudeVerdict = Literal["holds", "fails", "no verdict"]
CRUDE_MODELS: dict[str, str] = {
    "infinite buffer": "no queue, buffer of a cap or policer drops a packet",
    "no MAC": "a line with the mean rate and the mean delay of the medium in its place",
    "fixed rate": "no fades, no handovers, no damaged blocks, every varying rate at its mean; losses keep their share",
}
"""The crude models and what each changes in a link. A model that changes nothing in the scenarios
of a claim is not run for it.
"""
CHOICES = "the choices"
"""The name of the paper's choices as a member of the ensemble."""
WORDS: dict[Standing, str] = {
    "holds": "holds",
    "holds_crude": "holds, also in crude models",
    "shown": "cause shown by a prediction",
    "suggested": "cause suggested by chosen experiments",
    "other_reading": "holds with another reading",
    "unexplained": "unexplained",
}

MEANINGS: dict[Standing, str] = {
    "holds": "Fails in at least one crude model, or none changes its scenarios",
    "holds_crude": "Holds in every crude model that changes its scenarios: it proves little about the model",
    "shown": "An experiment on the cause, predicted before it ran, came out as predicted",
    "suggested": "An experiment on the cause does what it must, and was chosen among several",
    "other_reading": "The paper leaves a setting open, and the claim holds with another one",
    "unexplained": "No experiment and no reading that was run makes it hold",
}
"""What each standing means, for pages."""


@cache
def crude_outcomes(paper: str) -> tuple[Mapping[str, str], ...]:
    """The rows of ``crude.csv``: ``claim``, ``model`` (of `CRUDE_MODELS`), ``verdict``
    (`CrudeVerdict`) and ``ours`` of each holding claim with each crude model that changes its
    scenarios.
    """
    place = resources.files(__package__).joinpath(paper.replace("-", "_"), "crude.csv")
    return tuple(csv.DictReader(place.read_text("utf-8").splitlines())) if place.is_file() else ()


def crude_verdicts(paper: str, claim: str) -> dict[str, CrudeVerdict]:
    """The verdict on a claim with each crude model that was run for it, by the model's name."""
    by_word: dict[str, CrudeVerdict] = {word: word for word in get_args(CrudeVerdict)}
    return {row["model"]: by_word[row["verdict"]] for row in crude_outcomes(paper) if row["claim"] == claim}


def over_ensemble(paper: str, claim: str, verdict: Verdict) -> tuple[Verdict, tuple[str, ...]]:
    """A simulated claim's verdict over the ensemble of the paper's readings, and the names of those
    with which it is the opposite.

    Args:
        paper: its name.
        claim: the claim's id.
        verdict: "holds" or "fails" with the paper's choices.
    """
    stored = {(row["reading"], row["alternative"]): row["verdict"] for row in outcomes(paper) if row["claim"] == claim}
    found = {CHOICES: str(verdict)} | {
        f"{reading.name}: {each.name}": stored.get((reading.name, each.name), verdict)
        for reading in readings_of(paper)
        for each in reading.alternatives
        if each.is_phase
    }
    holding = sum(each == "holds" for each in found.values())
    overall: Verdict = "holds" if 2 * holding > len(found) else "fails"
    return overall, tuple(name for name, each in found.items() if each != overall)


def apply_ensemble(paper: str, result: ClaimResult) -> ClaimResult:
    """A simulated claim's result over the ensemble of the paper's readings; any other as it is."""
    if not result.simulated:
        return result
    verdict, unless = over_ensemble(paper, result.claim.id, result.verdict)
    return replace(result, verdict=verdict, unless=unless)


def failing_cause(paper: str, claim: str, unless: Sequence[str] = ()) -> Cause:
    """The cause of a failing claim that holds with the readings ``unless`` of its ensemble."""
    cause = cause_of(paper, claim)
    if unless and cause.kind in ("other_reading", "unexplained"):
        return Cause("other_reading", f"holds with another reading ({'; '.join(unless)})", PAGE)
    return cause


def standing(paper: str, claim: str, verdict: Verdict, unless: Sequence[str] = ()) -> Standing:
    """The standing of a simulated claim that holds or fails."""
    if verdict == "fails":
        return failing_cause(paper, claim, unless).kind
    crude = crude_verdicts(paper, claim)
    return "holds_crude" if crude and all(each == "holds" for each in crude.values()) else "holds"


def standings(paper: str, results: Iterable[ClaimResult]) -> dict[Standing, int]:
    """The number of simulated claims by standing."""
    found = [standing(paper, each.claim.id, each.verdict, each.unless) for each in results if each.simulated]
    return {kind: found.count(kind) for kind in get_args(Standing)}
