"""Readings: what a paper leaves open, how we read it, and the alternatives that were run.

``<paper>/readings.toml`` has a table ``[[reading]]`` for each choice, with the sentence or the
simulator's source that supports it, and the claims that it was calibrated on, which are not judged.
An ``[[reading.alternative]]`` has the scenario keys of another choice. ``make readings`` runs every
alternative and writes ``<paper>/readings.csv``: the verdicts that differ from those of the choice.
A failing claim that holds with an alternative may have its cause there (`causes`). An alternative
that changes nothing but jitter is a phase: claims are judged over the choice and these
(`standings`).

An ``[[undecidable]]`` claim is not judged, because two sentences or numbers of the paper contradict
each other; both are quoted.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import NotRequired, TypedDict, cast

from ackclock.input.scenario.draft import Point
from ackclock.papers.claims import expand_ids


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


class UndecidableTable(TypedDict):
    """An [[undecidable]]."""

    claims: list[str]
    quotes: list[str]
    source: str


class ReadingsFile(TypedDict, total=False):
    """readings.toml of a paper."""

    reading: list[ReadingTable]
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

    @property
    def is_phase(self) -> bool:
        """Whether it changes nothing but jitter, such as that of the wired part: the phase of the
        packets to the frames of a medium.
        """
        tables = (self.keys, *self.schemes.values(), *self.points.values())
        paths = [path for table in tables for path in table]
        return bool(paths) and all("jitter" in path.split(".") for path in paths)

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
class Undecidable:
    """Claims on which the paper contradicts itself: both places quoted, and where that is noted."""

    claims: tuple[str, ...]
    quotes: tuple[str, ...]
    source: str


@cache
def readings_of(paper: str) -> tuple[Reading, ...]:
    """A paper's readings in the file's order; none for an unknown paper."""
    return tuple(_reading(table) for table in readings_file(paper).get("reading", ()))


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
def readings_file(paper: str) -> ReadingsFile:
    """``readings.toml`` of a paper; empty for an unknown one."""
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
def undecidable_claims(paper: str) -> tuple[Undecidable, ...]:
    """A paper's ``[[undecidable]]`` tables."""
    return tuple(
        Undecidable(tuple(expand_ids(table["claims"])), tuple(table["quotes"]), table["source"])
        for table in readings_file(paper).get("undecidable", ())
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
