"""The document of ``fit``."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict


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


class NotIdentified(TypedDict):
    """A parameter that the captures do not show, and what the link file has instead."""

    path: str
    why: str
    default: Any


class ErrorQuantiles(TypedDict):
    """Absolute relative errors of the predictions."""

    median: float | None
    p90: float | None


class FitScore(TypedDict):
    """Predictions of transfers that were held out, and what the fit is good for."""

    held_out: list[dict[str, Any]]
    goodput_error: ErrorQuantiles
    rtt_p95_error: ErrorQuantiles
    repeat_spread: dict[str, float] | None
    good_for: Literal["buffers", "variants", "large differences", "nothing", "receive window"]
    sentence: str


class LinkFit(TypedDict):
    """The document of a fit."""

    title: str
    inputs: list[dict[str, Any]]
    link: dict[str, Any]
    parameters: list[FittedParameter]
    not_identified: list[NotIdentified]
    remarks: list[str]
    score: FitScore | None
    no_score: str | None
