"""The document of ``reproduce`` for one paper."""

from __future__ import annotations

from typing import Any, Literal

from ackclock.documents.parts import Open

Verdict = Literal["holds", "fails", "calibration", "not_tested"]


class OurFigure(Open):
    """Our mean with its 95 % interval."""

    mean: float | None
    lo: float | None
    hi: float | None
    n: int


class ClaimVerdict(Open):
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
    ns2: dict[str, float] | None = None
    also: dict[str, OurFigure] | None = None


class Claims(Open):
    """The document of a reproduction."""

    paper: str
    claims: list[ClaimVerdict]
    totals: dict[Verdict, int]
    gated: dict[Literal["holds", "fails"], int]
    figures: list[dict[str, Any]] | None = None
    folder: str | None = None
