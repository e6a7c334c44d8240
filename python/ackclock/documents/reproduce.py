"""The document of ``reproduce`` for one paper."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

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
