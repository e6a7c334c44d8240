"""Readings: what a paper leaves open, how we read it, and the alternatives that were run.

``<paper>/readings.toml`` has a table ``[[reading]]`` for each choice, with the sentence or the
simulator's source that supports it, and the claims that it was calibrated on, which are not judged.
An ``[[reading.alternative]]`` has the scenario keys of another choice. ``make readings`` runs every
alternative and writes ``<paper>/readings.csv``: the verdicts that differ from those of the choice.
A failing claim that holds with an alternative has its cause there.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from ackclock.papers.claims import expand_ids


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another reading: scenario keys by dotted path that replace those of the choice.

    ``experiments`` names the experiments that have these keys, all without names. ``schemes`` has
    keys for single schemes, by the scheme's name.
    """

    name: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    experiments: frozenset[str] = frozenset()
    schemes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def keys_of(self, experiment: str, scheme: str) -> dict[str, Any]:
        """The keys for one setting of an experiment; empty where it does not apply."""
        if self.experiments and experiment not in self.experiments:
            return {}
        return {**self.keys, **self.schemes.get(scheme, {})}


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
class Cause:
    """Why a claim fails: the experiment that shows it, or "" where no experiment does."""

    text: str
    experiment: str = ""


@cache
def readings_of(paper: str) -> tuple[Reading, ...]:
    """A paper's readings in the file's order; none for an unknown paper."""
    return tuple(_reading(table) for table in _file(paper).get("reading", ()))


def _reading(table: Mapping[str, Any]) -> Reading:
    return Reading(
        name=table["name"],
        choice=table["choice"],
        source=table["source"],
        calibrated_on=frozenset(expand_ids(table.get("calibrated_on", ()))),
        calibration=table.get("calibration", ""),
        link=table.get("link", ""),
        alternatives=tuple(
            Alternative(
                each["name"], each.get("keys", {}), frozenset(each.get("experiments", ())), each.get("schemes", {})
            )
            for each in table.get("alternative", ())
        ),
    )


@cache
def _file(paper: str) -> dict[str, Any]:
    if not paper:
        return {}
    place = resources.files(__package__).joinpath(paper.replace("-", "_"), "readings.toml")
    return tomllib.loads(place.read_text("utf-8")) if place.is_file() else {}


@cache
def outcomes(paper: str) -> tuple[Mapping[str, str], ...]:
    """The rows of ``readings.csv``: ``claim``, ``reading``, ``alternative``, ``verdict`` and
    ``ours`` of every claim whose verdict with an alternative differs from that with the choice.
    """
    place = resources.files(__package__).joinpath(paper.replace("-", "_"), "readings.csv")
    return tuple(csv.DictReader(place.read_text("utf-8").splitlines())) if place.is_file() else ()


@cache
def _shown(paper: str) -> Mapping[str, Cause]:
    """Causes written by hand (``[[cause]]``), each with its experiment."""
    return {
        claim: Cause(table["text"], table["experiment"])
        for table in _file(paper).get("cause", ())
        for claim in expand_ids(table["claims"])
    }


def cause_of(paper: str, claim: str) -> Cause:
    """The cause of a failing claim: the reading with which it holds, or the experiment that shows
    another cause. Without either it is unexplained.

    >>> cause_of("wimax-simulated", "P3-999").text
    'unexplained: no reading that was run makes it hold'
    """
    held = [row for row in outcomes(paper) if row["claim"] == claim and row["verdict"] == "holds"]
    if held:
        text = "; ".join(f"{row['reading']}: {row['alternative']}" for row in held[:3])
        return Cause(f"holds with another reading ({text})", "docs/readings.md")
    return _shown(paper).get(claim, Cause("unexplained: no reading that was run makes it hold"))
