"""Parts that several documents share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NotRequired

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

Direction = Literal["down", "up"]
DIRECTIONS: tuple[Direction, Direction] = ("down", "up")
OPPOSITE: Mapping[Direction, Direction] = {"down": "up", "up": "down"}


class Open(BaseModel):
    """A part of a file that is checked. Further fields may be added to it."""

    model_config = ConfigDict(extra="allow")


class Mode(TypedDict):
    """One of two groups of runs whose means are apart."""

    mean: float
    n: int
    share: float


class Estimate(TypedDict):
    """A mean over runs with its 95 % interval; null where it is undefined."""

    mean: float | None
    lo: float | None
    hi: float | None
    sd: float | None
    n: int
    modes: NotRequired[list[Mode]]
    values: NotRequired[list[float]]


class Ratio(TypedDict):
    """A ratio of means over paired runs, with its 95 % interval; null where it is undefined."""

    value: float | None
    lo: float | None
    hi: float | None
    p: float | None
    n: int


Metrics = dict[str, Estimate]
