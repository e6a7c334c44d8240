"""The document of ``hunt``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict


class HuntObjective(TypedDict):
    """What the hunt looked for."""

    name: str
    flow: str | None
    what: Annotated[str, Field(description="the figure, in words")]
    worse: Literal["small", "large"]
    breaks: Annotated[float, Field(description="from which value on a case breaks")]


class HuntSearch(TypedDict):
    """The search."""

    searcher: Literal["cmaes", "random"]
    seed: int
    runs: Annotated[int, Field(description="cases of the search; each is a run for each seed and compared value")]
    different: Annotated[int, Field(description="of them, cases that were not the same as an earlier one")]
    broken: Annotated[int, Field(description="of them, cases that broke")]
    forbidden: Annotated[int, Field(description="of them, cases that a constraint or `plausible` does not allow")]
    invalid: Annotated[int, Field(description="of them, cases that are no valid scenario")]
    first_broken: Annotated[int | None, Field(description="number of the first case that broke, from 1")]
    shrinking: Annotated[int, Field(description="cases that were tried to make what broke simple")]


class HuntFigure(TypedDict):
    """A figure of the objective: null where the case has none."""

    value: float | None
    text: str


class HuntMechanism(TypedDict):
    """How a case breaks."""

    flow: str
    variant: str
    limit: str | None
    cause: str | None
    event: Literal["timeouts", "fast_retransmits", "none"]
    why: str
    events: str


class HuntSeeds(TypedDict):
    """The case with seeds that the search did not have."""

    broken: int
    of: int


class HuntNearest(TypedDict):
    """The packaged link that is most like the case's."""

    link: str
    decades: float


class HuntVerification(TypedDict):
    """The case with the running kernel's TCP over the emulated link. `concluded` is false, with the
    reason as `text`, where the emulation shows nothing.
    """

    concluded: bool
    counts: NotRequired[bool]
    measured: NotRequired[float]
    effect: Annotated[NotRequired[float], Field(description="the emulated part of the simulated excess")]
    text: str


class HuntCase(TypedDict):
    """A case that breaks, made simple; one for each mechanism."""

    number: int
    figure: HuntFigure
    found: Annotated[HuntFigure, Field(description="before it was made simple")]
    at_run: Annotated[int, Field(description="number of the search's case, from 1")]
    sentence: str
    mechanism: HuntMechanism
    needs: Annotated[list[str], Field(description="what the simplest case has not, by key")]
    point: Annotated[dict[str, Any], Field(description="values by dotted path; absent: the key is left out")]
    seeds: HuntSeeds
    nearest: HuntNearest
    scenario: str | None
    test: str | None
    verification: NotRequired[HuntVerification]


class Hunt(TypedDict):
    """The document of a hunt."""

    title: str
    objective: HuntObjective
    search: HuntSearch
    simplest: Annotated[HuntFigure, Field(description="of the case in which every setting is the simplest")]
    worst: Annotated[HuntFigure, Field(description="of the search's worst case that is allowed")]
    cases: list[HuntCase]
    verdict: str
    folder: NotRequired[str | None]
