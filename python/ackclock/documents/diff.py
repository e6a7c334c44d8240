"""The document of ``diff``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict


class FigureDifference(TypedDict):
    """A figure of both runs. ``differs`` is null where too few runs decide it."""

    metric: str
    where: str
    a: float | None
    b: float | None
    difference: float | None
    lo: float | None
    hi: float | None
    differs: bool | None
    p: float | None
    n_a: int
    n_b: int
    method: str


class RunDifference(TypedDict):
    """The document of a difference."""

    a: str
    b: str
    kind: Annotated[str, Field(description="the command of both runs")]
    unit: Annotated[str, Field(description="what counts as one observation")]
    paired: bool
    correction: str
    metrics: list[FigureDifference]
    only_in_a: list[str]
    only_in_b: list[str]
    verdict: str
