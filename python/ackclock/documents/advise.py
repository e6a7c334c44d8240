"""The document of ``advise``."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from ackclock.documents.compare import Harm
from ackclock.documents.fit import FitScore, NotIdentified
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


class OneRun(TypedDict):
    """The range of the gain of one run."""

    lo: float
    hi: float


class Gain(TypedDict):
    """The goal's gain as a ratio, with its interval over runs and the range of one run."""

    ratio: float
    lo: float | None
    hi: float | None
    one_run: NotRequired[OneRun | None]
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


class Cost(TypedDict):
    """What a change costs, and who pays."""

    metric: str
    who_pays: str
    baseline: float | None
    advised: float | None
    certain: bool
    text: str
    direction: NotRequired[str]
    load: NotRequired[str]


class Benefit(TypedDict):
    """A share that a change makes fairer."""

    metric: str
    who: str
    direction: str
    companion: str
    baseline: float | None
    advised: float | None
    text: str


class UnderCondition(TypedDict):
    """The gain under a neighbouring condition; it flips where the change loses."""

    condition: str
    gain: float | None
    lo: float | None
    hi: float | None
    n: int
    flips: bool


class Point(TypedDict):
    """Goodput and delay of a change, means over its seeds."""

    label: str
    n: int
    goodput_bps: float
    sparse_rtt_p95_ms: float


class SupportingFit(TypedDict):
    """What the fit of the situation's link is good for."""

    inputs: list[dict[str, Any]] | None
    score: FitScore | None
    not_identified: list[NotIdentified] | None
    good_for: str | None
    capture_next: list[str]


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
    conditions: list[UnderCondition] | None
    costs: list[Cost] | None
    benefits: list[Benefit] | None


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


class UnjudgedAdvice(TypedDict):
    """An advice before its verdict."""

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
    points: list[Point]
    fit: NotRequired[SupportingFit]
    verification: NotRequired[dict[str, Any]]
    limitations: NotRequired[list[str]]
    notes: list[str]
    runs: AdviceRuns


class Advice(UnjudgedAdvice):
    """The document of an advice."""

    verdict: str
    folder: NotRequired[str | None]
