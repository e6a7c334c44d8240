"""The document of ``advise``."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from ackclock.documents.parts import Metrics

Change = TypedDict("Change", {"path": str, "from": Any, "to": Any})
"""A key of the link or scenario and its values."""


class AdviceStep(TypedDict):
    """A command, its undo and who types it."""

    who: str
    command: str
    undo: list[str]


class AdviceAlternative(TypedDict):
    """What to type on another system, in place of the commands of `who`."""

    system: str
    who: str
    commands: list[str]
    undo: list[str]


class Gain(TypedDict):
    """The goal's gain as a ratio, with its interval over runs and the range of one run."""

    ratio: float
    lo: float | None
    hi: float | None
    n: int


class Effect(TypedDict):
    """A metric without and with the change."""

    baseline: float | None
    advised: float | None
    lo: float | None
    hi: float | None


class OfLoad(TypedDict):
    """What a change does under one load of a link."""

    gain: Gain
    effect: dict[str, Effect]


class Harm(TypedDict):
    """A place in which a change falls below half of what the host's defaults give, in b/s."""

    direction: str
    companion: str
    metric: str
    value: float
    default: float
    share: float | None
    n: int
    text: str


class Advised(TypedDict):
    """A change that helps."""

    rank: int
    label: str
    change: list[Change]
    who: str
    commands: list[str]
    undo: list[str]
    steps: list[AdviceStep]
    alternatives: list[AdviceAlternative]
    preconditions: list[str]
    gain: Gain
    effect: dict[str, Effect]
    loads: dict[str, OfLoad] | None
    tied_with: list[str]
    unless: list[str] | None
    conditions: list[dict[str, Any]] | None
    costs: list[dict[str, Any]] | None
    benefits: list[dict[str, Any]] | None


class NoGain(TypedDict):
    """A change that does not help, or that the fit of the link does not support."""

    label: str
    change: list[Change]
    who: str
    gain: float | None
    lo: float | None
    hi: float | None
    n: int
    why: str
    harm: list[Harm]
    supported: bool


class Baseline(TypedDict):
    """The situation as it is."""

    metrics: Metrics


class Reader(TypedDict):
    """Those whose changes stand first, and whether that is a guess."""

    controls: list[str]
    guessed: bool


class AdviceRuns(TypedDict):
    """The simulations behind an advice."""

    count: int
    rounds: list[dict[str, Any]]


class Advice(TypedDict):
    """The document of an advice."""

    what: str
    title: str
    goal: str
    may: list[str]
    reader: Reader
    may_harm: bool
    direction: str
    loads: list[str]
    duration_s: float
    baseline: Baseline
    advice: list[Advised]
    nothing_to_gain: list[NoGain]
    points: list[dict[str, Any]]
    notes: list[str]
    runs: AdviceRuns
    verdict: str
    folder: NotRequired[str | None]
