"""Causes: why a claim fails, and what the experiments behind it are worth.

A ``[[cause]]`` of ``<paper>/readings.toml`` is a sentence about failing claims, with the
experiments that have to show it: keys that add or remove the suspected cause, and what must then
become of each claim. ``make readings`` runs them and writes ``<paper>/causes.csv``. An experiment
with ``predicted`` stood in the commit named there before it ran; any other was chosen among several
whose outcomes were known. A ``[[withdrawn]]`` cause is one that another simulator or a measurement
refutes.

Each failing claim is in one class (`CauseKind`): its cause is ``shown`` where a prediction came
true, ``suggested`` where only chosen experiments do what they must; it holds with another reading;
or it is unexplained.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from math import inf
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict, cast, get_args

from ackclock.input.scenario.draft import Point
from ackclock.papers.claims import expand_ids
from ackclock.papers.readings import Alternative, AlternativeTable, outcomes, readings_file

if TYPE_CHECKING:
    from ackclock.papers.documents import PredictionCounts

CauseKind = Literal["shown", "suggested", "other_reading", "unexplained"]
"""The class of a failing claim."""
PAGE = "docs/evidence/readings.md"
"""Where ``make readings`` writes readings, alternatives and causes."""


class Bounds(TypedDict, total=False):
    """The bounds of `must`."""

    at_least: float
    at_most: float


class PredictionTable(TypedDict):
    """The ``predicted`` of an experiment."""

    commit: str
    date: str


class CauseExperimentTable(AlternativeTable):
    """A [[cause.experiment]]."""

    must: NotRequired[Literal["holds", "reaches"] | Bounds]
    claims: NotRequired[list[str]]
    steps: NotRequired[list[Point]]
    figure: NotRequired[str]
    predicted: NotRequired[PredictionTable]


class CauseTable(TypedDict):
    """A [[cause]]."""

    claims: list[str]
    text: str
    experiment: list[CauseExperimentTable]


class WithdrawnTable(TypedDict):
    """A [[withdrawn]]."""

    claims: list[str]
    cause: str
    refuted_by: str
    alternative: NotRequired[str]


class CausesFile(TypedDict, total=False):
    """The tables of ``readings.toml`` that are about causes."""

    cause: list[CauseTable]
    withdrawn: list[WithdrawnTable]


@dataclass(frozen=True, slots=True)
class Requirement:
    """What an experiment must do to a claim to show its cause.

    ``holds``: the claim's verdict becomes "holds". ``reaches``: our figure reaches or passes the
    paper's number, from the side on which ours is. Otherwise our figure, or the one named
    ``figure`` beside it, is at least ``at_least`` and at most ``at_most``, in the claim's unit.
    """

    holds: bool = False
    reaches: bool = False
    at_least: float = -inf
    at_most: float = inf

    def admits(self, verdict: str, figure: float | None, choice: float | None, paper: float | None) -> bool:
        """Whether an experiment with this verdict and figure does what is required.

        Args:
            verdict: the claim's verdict in the experiment.
            figure: our figure in the experiment; None without one.
            choice: our figure with the paper's choices.
            paper: the paper's number.
        """
        if self.holds:
            return verdict == "holds"
        if figure is None:
            return False
        if self.reaches:
            if choice is None or paper is None:
                return False
            return figure >= paper if choice < paper else figure <= paper
        return self.at_least <= figure <= self.at_most

    def __str__(self) -> str:
        if self.holds:
            return "holds"
        if self.reaches:
            return "reaches the paper's figure"
        bounds = [f"at least {self.at_least:g}"] * (self.at_least > -inf)
        return " and ".join(bounds + [f"at most {self.at_most:g}"] * (self.at_most < inf))


@dataclass(frozen=True, slots=True)
class Prediction:
    """The commit in which an experiment stood before it ran, and that commit's date (ISO 8601)."""

    commit: str
    date: str


@dataclass(frozen=True, slots=True)
class CauseExperiment:
    """An experiment that tests a cause.

    ``steps`` are settings in order, each with keys beside those of ``change``; the last must meet
    the requirement, and our figure must move in one direction over all of them. ``figure`` names a
    figure beside the claim's own (``Evidence.also``); "" is the claim's.
    """

    name: str
    change: Alternative
    requirement: Requirement
    claims: tuple[str, ...]
    steps: tuple[Point, ...] = ()
    figure: str = ""
    predicted: Prediction | None = None

    def changes(self) -> tuple[Alternative, ...]:
        """The settings to run, in order."""
        if not self.steps:
            return (self.change,)
        return tuple(replace(self.change, keys={**self.change.keys, **step}) for step in self.steps)


@dataclass(frozen=True, slots=True)
class SuspectedCause:
    """A sentence about failing claims, and the experiments that have to show it."""

    claims: tuple[str, ...]
    text: str
    experiments: tuple[CauseExperiment, ...]


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A cause that is refuted: what it said, and what refutes it.

    ``alternative`` is the reading with which a claim holds, as "reading: alternative", where that
    was taken for the cause.
    """

    claims: tuple[str, ...]
    cause: str
    refuted_by: str
    alternative: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a claim fails: its class, the page with the experiment ("" where nothing names a cause),
    and the predictions that came true.
    """

    kind: CauseKind
    text: str
    experiment: str = ""
    predictions: tuple[Prediction, ...] = ()


def _file(paper: str) -> CausesFile:
    return cast("CausesFile", readings_file(paper))


@cache
def suspected_causes(paper: str) -> tuple[SuspectedCause, ...]:
    """A paper's ``[[cause]]`` tables in the file's order, whether shown or not."""
    return tuple(
        SuspectedCause(
            tuple(claims := expand_ids(table["claims"])),
            table["text"],
            tuple(_cause_experiment(each, tuple(claims)) for each in table["experiment"]),
        )
        for table in _file(paper).get("cause", ())
    )


def _cause_experiment(table: CauseExperimentTable, claims: tuple[str, ...]) -> CauseExperiment:
    must = table.get("must", "holds")
    requirement = Requirement(**must) if isinstance(must, dict) else Requirement(**{must: True})
    own = tuple(expand_ids(table["claims"])) if "claims" in table else claims
    predicted = table.get("predicted")
    return CauseExperiment(
        table["name"],
        Alternative.of(table),
        requirement,
        own,
        tuple(table.get("steps", ())),
        table.get("figure", ""),
        Prediction(predicted["commit"], predicted["date"]) if predicted else None,
    )


@cache
def withdrawn_causes(paper: str) -> tuple[Withdrawn, ...]:
    """A paper's ``[[withdrawn]]`` tables in the file's order."""
    return tuple(
        Withdrawn(tuple(expand_ids(table["claims"])), table["cause"], table["refuted_by"], table.get("alternative", ""))
        for table in _file(paper).get("withdrawn", ())
    )


@cache
def cause_outcomes(paper: str) -> tuple[Mapping[str, str], ...]:
    """The rows of ``causes.csv``: ``claim``, ``experiment``, ``required``, ``choice`` and
    ``found`` (our figures, or verdicts), and ``shown`` (yes or no: whether it does what it must).
    """
    place = resources.files(__package__).joinpath(paper.replace("-", "_"), "causes.csv")
    return tuple(csv.DictReader(place.read_text("utf-8").splitlines())) if place.is_file() else ()


@dataclass(frozen=True, slots=True)
class Predictions:
    """Experiments by claim: how many ran, how many of them were predicted, and how many
    predictions came true.
    """

    experiments: int
    predicted: int
    true: int

    def as_json(self) -> PredictionCounts:
        """The entry in documents."""
        return {"experiments": self.experiments, "predicted": self.predicted, "true": self.true}


def predictions(paper: str) -> Predictions:
    """The predictions among the experiments that ran for a paper's claims."""
    ran = [row for cause in suspected_causes(paper) for _, row in _ran(paper, cause)]
    made = [row for cause in suspected_causes(paper) for each, row in _ran(paper, cause) if each.predicted]
    return Predictions(len(ran), len(made), sum(row["shown"] == "yes" for row in made))


def _ran(paper: str, cause: SuspectedCause, claim: str = "") -> list[tuple[CauseExperiment, Mapping[str, str]]]:
    """The experiments of a cause that ran, a claim each; of one claim only, if it is given."""
    rows = {(row["claim"], row["experiment"]): row for row in cause_outcomes(paper)}
    return [
        (each, row)
        for each in cause.experiments
        for name in each.claims
        if claim in ("", name) and (row := rows.get((name, each.name)))
    ]


def _suspected(paper: str, claim: str) -> Cause | None:
    """The cause that a claim's ``[[cause]]`` gives it: one that a prediction shows before one that
    chosen experiments suggest. None for a claim without one.
    """
    found = [_tested(paper, claim, cause) for cause in suspected_causes(paper) if claim in cause.claims]
    kinds = get_args(CauseKind)
    return min(found, key=lambda each: kinds.index(each.kind), default=None)


def _tested(paper: str, claim: str, cause: SuspectedCause) -> Cause:
    """What the experiments of a suspected cause make of a claim."""
    ran = _ran(paper, cause, claim)
    complete = len(ran) == sum(claim in each.claims for each in cause.experiments)
    figures = "; ".join(f"{row['experiment']}: from {row['choice']} to {row['found']}" for _, row in ran)
    text = f"{cause.text} ({figures or 'its experiment was not run'})"
    if not complete or any(row["shown"] != "yes" for _, row in ran):
        return Cause("unexplained", f"unexplained: suspected, and not shown: {text}")
    made = tuple(each.predicted for each, _ in ran if each.predicted)
    return Cause("shown" if made else "suggested", text, PAGE, made)


def cause_of(paper: str, claim: str) -> Cause:
    """The cause of a failing claim: one that its experiments show or suggest, or else the reading
    with which it holds. Without either it is unexplained.

    >>> cause_of("wimax-simulated", "P3-999").text
    'unexplained: no reading that was run makes it hold'
    """
    suspected = _suspected(paper, claim)
    if suspected and suspected.experiment:
        return suspected
    withdrawn = [each for each in withdrawn_causes(paper) if claim in each.claims]
    refuted = {each.alternative for each in withdrawn}
    held = [
        name
        for row in outcomes(paper)
        if row["claim"] == claim
        and row["verdict"] == "holds"
        and (name := f"{row['reading']}: {row['alternative']}") not in refuted
    ]
    if held:
        return Cause("other_reading", f"holds with another reading ({'; '.join(held[:3])})", PAGE)
    if suspected:
        return suspected
    text = "unexplained: no reading that was run makes it hold"
    if withdrawn:
        text = f"unexplained; withdrawn: {withdrawn[0].cause}. Refuted: {withdrawn[0].refuted_by}"
    return Cause("unexplained", text)


def forget_outcomes() -> None:
    """Read ``readings.csv`` and ``causes.csv`` again."""
    outcomes.cache_clear()
    cause_outcomes.cache_clear()
