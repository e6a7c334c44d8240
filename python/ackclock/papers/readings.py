"""Readings: what a paper leaves open, how we read it, the alternatives that were run, and causes.

``<paper>/readings.toml`` has a table ``[[reading]]`` for each choice, with the sentence or the
simulator's source that supports it, and the claims that it was calibrated on, which are not judged.
An ``[[reading.alternative]]`` has the scenario keys of another choice. ``make readings`` runs every
alternative and writes ``<paper>/readings.csv``: the verdicts that differ from those of the choice.
A failing claim that holds with an alternative has its cause there.

A ``[[cause]]`` is a sentence about failing claims, with the experiments that show it: keys that add
or remove the suspected cause, and what must then become of each claim. ``make readings`` runs them
and writes ``<paper>/causes.csv``. A claim whose experiments do not all show its cause stays
unexplained. An ``[[undecidable]]`` claim is not judged, because two sentences or numbers of the
paper contradict each other; both are quoted.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from math import inf
from typing import Literal, NotRequired, TypedDict, cast

from ackclock.input.scenario.sweep_paths import Point
from ackclock.papers.claims import expand_ids

CauseKind = Literal["shown", "other_reading", "unexplained"]


class AlternativeTable(TypedDict):
    """An [[reading.alternative]], or the part of a [[cause.experiment]] that is one."""

    name: str
    keys: NotRequired[Point]
    experiments: NotRequired[list[str]]
    schemes: NotRequired[dict[str, Point]]
    points: NotRequired[dict[str, Point]]


class ReadingTable(TypedDict):
    """A [[reading]]."""

    name: str
    choice: str
    source: str
    calibrated_on: NotRequired[list[str]]
    calibration: NotRequired[str]
    link: NotRequired[str]
    alternative: NotRequired[list[AlternativeTable]]


class Bounds(TypedDict, total=False):
    """The bounds of `must`."""

    at_least: float
    at_most: float


class CauseExperimentTable(AlternativeTable):
    """A [[cause.experiment]]."""

    must: NotRequired[Literal["holds", "reaches"] | Bounds]
    claims: NotRequired[list[str]]
    steps: NotRequired[list[Point]]
    figure: NotRequired[str]


class CauseTable(TypedDict):
    """A [[cause]]."""

    claims: list[str]
    text: str
    experiment: list[CauseExperimentTable]


class UndecidableTable(TypedDict):
    """An [[undecidable]]."""

    claims: list[str]
    quotes: list[str]
    source: str


class ReadingsFile(TypedDict, total=False):
    """readings.toml of a paper."""

    reading: list[ReadingTable]
    cause: list[CauseTable]
    undecidable: list[UndecidableTable]


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another reading: scenario keys by dotted path that replace those of the choice.

    ``experiments`` names the experiments that have these keys, all without names. ``schemes`` has
    keys for single schemes, by the scheme's name; ``points`` has keys for single points of a
    sweep, by the swept value as text, such as one hour of a day.
    """

    name: str
    keys: Point = field(default_factory=dict)
    experiments: frozenset[str] = frozenset()
    schemes: Mapping[str, Point] = field(default_factory=dict)
    points: Mapping[str, Point] = field(default_factory=dict)

    @staticmethod
    def of(table: AlternativeTable) -> Alternative:
        """An alternative from its table in ``readings.toml``."""
        return Alternative(
            table["name"],
            table.get("keys", {}),
            frozenset(table.get("experiments", ())),
            table.get("schemes", {}),
            table.get("points", {}),
        )

    def keys_of(self, experiment: str, scheme: str, swept: Iterable[object]) -> Point:
        """The keys for one setting of an experiment with these values; empty where it does not
        apply.
        """
        if self.experiments and experiment not in self.experiments:
            return {}
        keys = {**self.keys, **self.schemes.get(scheme, {})}
        for value in swept:
            keys.update(self.points.get(str(value), {}))
        return keys


@dataclass(frozen=True, slots=True)
class Reading:
    """A choice that a paper leaves open.

    ``calibrated_on`` has the claims that the choice was made with, ``calibration`` says how.
    ``link`` is the packaged link that has the choice, if any.
    """

    name: str
    choice: str
    source: str
    calibrated_on: frozenset[str] = frozenset()
    calibration: str = ""
    link: str = ""
    alternatives: tuple[Alternative, ...] = ()


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
class CauseExperiment:
    """An experiment that shows a cause.

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
class Undecidable:
    """Claims on which the paper contradicts itself: both places quoted, and where that is noted."""

    claims: tuple[str, ...]
    quotes: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a claim fails: the page with the experiment that shows it, or "" where none does."""

    text: str
    experiment: str = ""

    @property
    def kind(self) -> CauseKind:
        """Whether experiments show the cause, the claim holds with another reading, or neither."""
        if self.text.startswith(UNEXPLAINED):
            return "unexplained"
        return "other_reading" if self.text.startswith(OTHER_READING) else "shown"


@cache
def readings_of(paper: str) -> tuple[Reading, ...]:
    """A paper's readings in the file's order; none for an unknown paper."""
    return tuple(_reading(table) for table in _file(paper).get("reading", ()))


def _reading(table: ReadingTable) -> Reading:
    return Reading(
        name=table["name"],
        choice=table["choice"],
        source=table["source"],
        calibrated_on=frozenset(expand_ids(table.get("calibrated_on", ()))),
        calibration=table.get("calibration", ""),
        link=table.get("link", ""),
        alternatives=tuple(Alternative.of(each) for each in table.get("alternative", ())),
    )


@cache
def _file(paper: str) -> ReadingsFile:
    if not paper:
        return {}
    place = resources.files(__package__).joinpath(paper.replace("-", "_"), "readings.toml")
    return cast("ReadingsFile", tomllib.loads(place.read_text("utf-8"))) if place.is_file() else {}


@cache
def outcomes(paper: str) -> tuple[Mapping[str, str], ...]:
    """The rows of ``readings.csv``: ``claim``, ``reading``, ``alternative``, ``verdict`` and
    ``ours`` of every claim whose verdict with an alternative differs from that with the choice.
    """
    place = resources.files(__package__).joinpath(paper.replace("-", "_"), "readings.csv")
    return tuple(csv.DictReader(place.read_text("utf-8").splitlines())) if place.is_file() else ()


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
    return CauseExperiment(
        table["name"],
        Alternative.of(table),
        requirement,
        own,
        tuple(table.get("steps", ())),
        table.get("figure", ""),
    )


@cache
def undecidable_claims(paper: str) -> tuple[Undecidable, ...]:
    """A paper's ``[[undecidable]]`` tables."""
    return tuple(
        Undecidable(tuple(expand_ids(table["claims"])), tuple(table["quotes"]), table["source"])
        for table in _file(paper).get("undecidable", ())
    )


def contradiction(paper: str, claim: str) -> str:
    """The contradiction that leaves a claim undecidable; "" for a claim that can be judged.

    >>> contradiction("wimax-simulated", "P3-999")
    ''
    """
    for each in undecidable_claims(paper):
        if claim in each.claims:
            return f"not decidable: the paper has {' beside '.join(each.quotes)} ({each.source})"
    return ""


@cache
def cause_outcomes(paper: str) -> tuple[Mapping[str, str], ...]:
    """The rows of ``causes.csv``: ``claim``, ``experiment``, ``required``, ``choice`` and
    ``found`` (our figures, or verdicts), and ``shown`` (yes or no).
    """
    place = resources.files(__package__).joinpath(paper.replace("-", "_"), "causes.csv")
    return tuple(csv.DictReader(place.read_text("utf-8").splitlines())) if place.is_file() else ()


def _suspected(paper: str, claim: str) -> tuple[bool, str] | None:
    """Whether the experiments of a claim's ``[[cause]]`` all show it, and the cause with their
    figures; None for a claim without one.
    """
    rows = {(row["claim"], row["experiment"]): row for row in cause_outcomes(paper)}
    found = None
    for cause in suspected_causes(paper):
        if claim not in cause.claims:
            continue
        ran = [rows.get((claim, each.name)) for each in cause.experiments if claim in each.claims]
        shown = bool(ran) and all(row and row["shown"] == "yes" for row in ran)
        figures = "; ".join(f"{row['experiment']}: from {row['choice']} to {row['found']}" for row in ran if row)
        text = f"{cause.text} ({figures or 'its experiment was not run'})"
        if shown:
            return True, text
        found = found or (False, text)
    return found


UNEXPLAINED, OTHER_READING = "unexplained", "holds with another reading"


def cause_of(paper: str, claim: str) -> Cause:
    """The cause of a failing claim: one that its experiments show, or else the reading with which
    it holds. Without either it is unexplained.

    >>> cause_of("wimax-simulated", "P3-999").text
    'unexplained: no reading that was run makes it hold'
    """
    suspected = _suspected(paper, claim)
    if suspected and suspected[0]:
        return Cause(suspected[1], PAGE)
    held = [row for row in outcomes(paper) if row["claim"] == claim and row["verdict"] == "holds"]
    if held:
        text = "; ".join(f"{row['reading']}: {row['alternative']}" for row in held[:3])
        return Cause(f"{OTHER_READING} ({text})", PAGE)
    if suspected:
        return Cause(f"{UNEXPLAINED}: suspected, and not shown: {suspected[1]}")
    return Cause(f"{UNEXPLAINED}: no reading that was run makes it hold")


PAGE = "docs/evidence/readings.md"
"""Where ``make readings`` writes readings, alternatives and causes."""


def forget_outcomes() -> None:
    """Read ``readings.csv`` and ``causes.csv`` again."""
    outcomes.cache_clear()
    cause_outcomes.cache_clear()
