"""The document of ``reproduce`` for one paper."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from ackclock.documents.engine import AppScore
from ackclock.documents.parts import Ratio

Verdict = Literal["holds", "fails", "calibration", "not_tested"]


class OurFigure(TypedDict):
    """Our mean with its 95 % interval."""

    mean: float | None
    lo: float | None
    hi: float | None
    n: int


class ClaimVerdict(TypedDict):
    """A claim of a paper beside our figure."""

    id: str
    where: str
    metric: str
    scenario: str
    variant: str
    parameters: str
    paper_value: str
    paper_number: float | None
    unit: str
    ours: OurFigure | None
    tolerance: str
    verdict: Verdict
    gated: bool
    by: str | None
    ns2_agrees: bool | None
    why: str
    ns2: NotRequired[dict[str, float] | None]
    also: NotRequired[dict[str, OurFigure] | None]


class Claims(TypedDict):
    """The document of a reproduction."""

    paper: str
    claims: list[ClaimVerdict]
    totals: dict[Verdict, int]
    gated: dict[Literal["holds", "fails"], int]
    figures: NotRequired[list[dict[str, Any]] | None]
    folder: NotRequired[str | None]


class StoredClaims(Claims):
    """reproduce.json of a run folder; earlier versions wrote no `totals_by`."""

    totals_by: NotRequired[dict[str, dict[str, Any]]]


Survival = Literal["survives", "smaller", "larger", "gone", "reversed", "undecided"]


class PutLink(TypedDict):
    """The link that a paper's design is put on: its lowest rates, its RTT without queues and the
    BDP of a download; null without a rate.
    """

    name: str
    title: str
    down_bps: float | None
    up_bps: float | None
    base_rtt_ms: float
    bdp_bytes: float | None


class PaperStatement(TypedDict):
    """What a paper states: a ratio of the point to its base, or only its direction ("more",
    "less", "alike"), or a value that the point is above, below or near.
    """

    states: Literal["more", "less", "alike", "above", "below", "level"]
    ratio: float | None
    value: float | None


class TodaysAnswer(TypedDict):
    """Our figures of the point and of its base (of the paper's value without one), their ratio with
    the simultaneous interval over the seeds, and what limits the point's flow.
    """

    point: OurFigure
    base: OurFigure | None
    ratio: Ratio
    why: str


class AskedQuestion(TypedDict):
    """A statement of a paper beside the answer on another link."""

    id: str
    claims: list[str]
    text: str
    measure: str
    unit: str
    point: str
    base: str | None
    paper: PaperStatement
    today: TodaysAnswer
    verdict: Survival


class StayingExperiment(TypedDict):
    """Experiments or questions of a paper that this link cannot have, and why."""

    names: list[str]
    why: str


class PaperSentence(TypedDict):
    """The paper's conclusion in our words, where it stands, and the answer on this link."""

    paper: str
    where: str
    today: str


class PaperOnLink(TypedDict):
    """The document of ``reproduce PAPER --on LINK``."""

    paper: str
    on: PutLink
    sentence: PaperSentence
    questions: list[AskedQuestion]
    not_transferred: list[StayingExperiment]
    seeds: list[int]
    totals: dict[Survival, int]
    folder: NotRequired[str | None]


class PaperApp(TypedDict):
    """An application on a link of the paper, beside a load."""

    link: str
    load: str
    app: Literal["call", "video"]
    sentence: str
    """What people feel, over the seeds."""
    scores: list[AppScore]
    """One per seed (docs/models/scores.md)."""


class PaperApps(TypedDict):
    """The document of ``reproduce PAPER --apps``."""

    paper: str
    seeds: list[int]
    apps: list[PaperApp]
