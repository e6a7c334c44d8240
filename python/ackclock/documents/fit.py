"""The document of ``fit``."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from ackclock.documents.parts import Direction

GoodFor = Literal["buffers", "variants", "large differences", "nothing", "receive window"]


class FittedInput(TypedDict):
    """A capture or a measurement, by its run and its end."""

    capture: str
    run: int
    end: Literal["server", "client"]
    flows: int
    duration_s: float


class FittedParameter(TypedDict):
    """A parameter of the link by its path in the link file, with its 95 % interval."""

    path: str
    value: float | None
    unit: str
    lo: float | None
    hi: float | None
    status: Literal["identified", "bounded", "assumed"]
    method: str
    evidence: str
    kind: NotRequired[str]


class NotIdentified(TypedDict):
    """A parameter that the captures do not show, and what the link file has instead."""

    path: str
    why: str
    default: float | None


class ErrorQuantiles(TypedDict):
    """Absolute relative errors of the predictions."""

    median: float | None
    p90: float | None


class HeldOut(TypedDict):
    """The prediction of a part of the input that was not fitted; errors are relative."""

    variant: str
    direction: Direction
    buffers: str
    from_s: float
    to_s: float
    goodput_error: float
    rtt_p95_error: float
    retransmission_ratio: NotRequired[float | None]


class NaiveErrors(TypedDict):
    """Relative errors of a link with a rate, a delay and a queue of one bandwidth-delay product."""

    goodput_error: float
    rtt_p95_error: float


class FitVerdict(TypedDict):
    """What a fit is good for, in a word and in a sentence."""

    good_for: GoodFor
    sentence: str


class FitScore(FitVerdict):
    """Predictions of transfers that were held out, and what the fit is good for."""

    held_out: list[HeldOut]
    goodput_error: ErrorQuantiles
    rtt_p95_error: ErrorQuantiles
    repeat_spread: dict[str, float] | None
    naive: NotRequired[NaiveErrors | None]


class FittedLink(TypedDict):
    """The document of a fit."""

    title: str
    inputs: list[FittedInput]
    link: dict[str, Any]
    parameters: list[FittedParameter]
    not_identified: list[NotIdentified]
    remarks: list[str]
    score: FitScore | None
    no_score: str | None
