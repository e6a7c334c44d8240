"""The documents of ``simulate`` and ``sweep``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import ReadOnly, TypedDict

from ackclock.documents.engine import FlowLimit, FlowRow, Summary
from ackclock.documents.parts import Metrics


class ModelRates(TypedDict):
    """Closed forms at the run's loss rate and RTT."""

    loss: float | None
    window_bps: float | None
    mathis_bps: float | None
    padhye_bps: float | None
    padhye_approx_bps: float | None
    cubic_bps: float | None


class SimulatedFlow(FlowRow):
    """A flow of a run, with what limits it; null without packets."""

    model: ModelRates | None
    limits: dict[str, float] | None
    limit: FlowLimit | None
    why: str | None


class RunFlows(TypedDict):
    """What a table of flows is made of: rows with keys of any kind."""

    seed: ReadOnly[int]
    flows: ReadOnly[Sequence[Mapping[str, object]]]


class ExplainedRun(Summary):
    """A run as ``simulate`` stores it."""

    flows: list[SimulatedFlow]  # type: ignore[misc]


class Run(ExplainedRun):
    """One run."""

    scenario: str


class HouseholdTarget(TypedDict):
    """What people want of an application, and what they get: the median over the seeds."""

    app: str
    target: str
    found: Annotated[float | None, Field(description="in the target's unit; null if a page was never complete")]
    lo: Annotated[float | None, Field(description="minimum over the seeds")]
    hi: Annotated[float | None, Field(description="maximum over the seeds")]
    felt: Annotated[float | None, Field(description="what people feel: of a page its load time in s")]
    felt_text: str
    shown: str
    met: bool


class Household(TypedDict):
    """The targets of a household on a link."""

    version: int
    targets: list[HouseholdTarget]
    verdict: str


class Simulation(Run):
    """The document of one seed."""

    household: NotRequired[Household]
    folder: NotRequired[str | None]


class SeedSummary(TypedDict):
    """Metrics over the seeds."""

    n: int
    metrics: Metrics


class SeededSimulation(TypedDict):
    """The document of several seeds."""

    scenario: str
    runs: list[Run]
    summary: SeedSummary
    household: NotRequired[Household]
    folder: NotRequired[str | None]


class SweepCell(TypedDict):
    """The runs of one combination of parameters."""

    params: dict[str, Any]
    n: int
    metrics: Metrics


class Sweep(TypedDict):
    """The document of a sweep."""

    cells: list[SweepCell]
    digest: Annotated[str, Field(description="of the rows' contents, whatever the number of parts")]
    folder: NotRequired[str | None]
