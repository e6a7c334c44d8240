"""The documents of a reproduction as types: what ``reproduce --json`` and reproduce.json have."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from ackclock.documents.parts import Mode
from ackclock.documents.reproduce import ClaimVerdict, OurFigure, Verdict
from ackclock.papers.causes import CauseKind
from ackclock.papers.evidence import By
from ackclock.papers.live.summary import Audit, LiveFlow
from ackclock.papers.standings import CrudeVerdict, Standing
from ackclock.plot.sweep_chart import CurvePoint, FigureAxes


class ShownFigure(OurFigure):
    """Our mean with what describes a mean that no run has."""

    modes: NotRequired[list[Mode]]
    values: NotRequired[list[float]]


class PredictionEntry(TypedDict):
    """The commit in which an experiment stood before it ran, and that commit's date."""

    commit: str
    date: str


class ClaimCause(TypedDict):
    """Why a claim fails: the class of the cause, the page with the experiment, and the predictions
    that came true. Earlier versions wrote neither class nor predictions.
    """

    kind: NotRequired[CauseKind]
    text: str
    experiment: str | None
    predictions: NotRequired[list[PredictionEntry]]


class SimulatedClaim(TypedDict):
    """The verdict of the simulator beside that of real traffic."""

    verdict: Verdict
    ours: ShownFigure | None
    by: str | None
    why: str


class ClaimDocument(ClaimVerdict):
    """A claim with its verdict."""

    ours: ShownFigure | None  # type: ignore[misc]
    standing: NotRequired[Standing]
    cause: NotRequired[ClaimCause]
    crude: NotRequired[dict[str, CrudeVerdict]]
    unless: NotRequired[list[str]]
    simulated: NotRequired[SimulatedClaim]


class PredictionCounts(TypedDict):
    """The experiments on failing claims that ran, how many of them were predicted, and how many of
    these came true.
    """

    experiments: int
    predicted: int
    true: int


class FigureDocument(FigureAxes):
    """A figure of a paper: lines over a swept value."""

    title: str
    reading: str
    rows: list[CurvePoint]


class LiveRow(Audit):
    """A live run: the settings that it is of, its figures and its audit."""

    run: str
    places: list[str]
    seconds: float
    flows: list[LiveFlow]


class LiveDocument(TypedDict):
    """The runs of a live reproduction."""

    congestion: list[str]
    longest_s: float
    repeats: int
    notes: list[str]
    runs: list[LiveRow]
    failed: list[str]


class ReproductionDocument(TypedDict):
    """A reproduction; earlier versions wrote neither seeds, `totals_by`, `standings` nor
    `predictions`.
    """

    paper: str
    claims: list[ClaimDocument]
    seeds: NotRequired[list[int]]
    totals: dict[Verdict, int]
    totals_by: NotRequired[dict[By, dict[Verdict, int]]]
    gated: dict[str, int]
    standings: NotRequired[dict[Standing, int]]
    predictions: NotRequired[PredictionCounts]
    figures: NotRequired[list[FigureDocument]]
    folder: NotRequired[str]
    live: NotRequired[LiveDocument]
