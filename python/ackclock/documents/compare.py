"""The document of ``compare``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ackclock.documents.engine import FlowLimit
from ackclock.documents.parts import Estimate, Metrics, Ratio
from ackclock.documents.simulate import HouseholdTarget


class Configuration(TypedDict):
    """What is compared."""

    variant: str
    send_buffer: str
    receive_buffer: str
    delayed_ack: bool
    queue: str
    ack_policy: str
    ack_technique: str
    transport: Literal["tcp", "quic"]


class ComparedCell(Configuration):
    """The runs of a configuration."""

    label: str
    n: int
    metrics: Metrics
    limits: dict[str, float] | None
    limit: FlowLimit | None
    why: str | None
    loads: NotRequired[Annotated[dict[str, Metrics], Field(description="of the configurations of `judgement`")]]


class Setting(TypedDict):
    """What to set, and who sets it."""

    who: str
    command: str


class Rank(TypedDict):
    """The place of a configuration."""

    rank: int
    label: str
    params: Configuration
    why: str | None
    tied_with: list[str]
    same_as: str | None
    settings: list[Setting]
    ratio: Ratio | None
    undecided: bool


class Price(TypedDict):
    """A metric in which a choice is worse than another configuration."""

    metric: str
    value: float
    best: float
    than: str
    certain: bool
    text: str


class PricedChoice(TypedDict):
    """A choice beside sparse flows, short transfers and other variants."""

    label: str
    alternatives: list[str]
    metrics: Metrics
    named: list[Price]


class Prices(TypedDict):
    """What the best configurations cost."""

    runs: int
    seeds: list[int]
    choices: list[PricedChoice]
    references: list[PricedChoice]


class Harm(TypedDict):
    """A place in which a choice falls below the bound of harm; figures in b/s."""

    direction: str
    companion: str
    metric: str
    value: float
    default: float
    n: int
    text: str
    share: float | None


class ScoredChoice(TypedDict):
    """A configuration under the loads; `harm` is null where it was not tested, `targets` are those
    of a household.
    """

    label: str
    score: Estimate
    gain: Ratio | None
    harm: list[Harm] | None
    targets: NotRequired[list[HouseholdTarget]]


class UnderCondition(TypedDict):
    """The recommended choice beside another one under a condition: `gain` is the ratio of their
    scores; the recommendation flips where the other one is better and does no harm.
    """

    condition: str
    than: str
    gain: Ratio
    harms: bool | None
    flips: bool


class Judgement(TypedDict):
    """What is recommended by a goal, and by which runs."""

    goal: str
    may_harm: bool
    recommended: str | None
    fastest: str
    defaults: str
    seeds: int
    harm_seeds: int
    harm_s: float
    household_s: NotRequired[Annotated[float, Field(description="duration of a household's run")]]
    choices: list[ScoredChoice]
    conditions: NotRequired[list[UnderCondition]]


class RecordingStart(TypedDict):
    """Where a seed's run starts in a recording."""

    seed: int
    start_s: float


class RecordingPart(TypedDict):
    """The part of a recorded rate that the runs replay."""

    hop: str
    direction: str
    period_s: float
    duration_s: float
    starts: list[RecordingStart]
    seen_share: float


class SimulatedLike(TypedDict):
    """The simulated configuration of a measured transfer."""

    label: str
    goodput_bps: Estimate | None
    rtt_p95_ms: Estimate | None
    retransmission_rate: Estimate | None


class MeasuredRow(TypedDict):
    """A measured bulk transfer beside the configuration of its variant and buffers."""

    flow: str
    variant: str | None
    buffer: str
    goodput_bps: float | None
    rtt_p95_ms: float | None
    retransmission_rate: float | None
    simulated: SimulatedLike | None
    goodput_ratio: float | None


class Comparison(TypedDict):
    """The document of a comparison."""

    link: str
    title: str
    scenario: dict[str, Any]
    rank_by: str
    goal: str
    recommended: str | None
    asymmetry: dict[str, Any] | None
    no_asymmetry: str | None
    notes: list[str]
    recordings: NotRequired[list[RecordingPart]]
    cells: list[ComparedCell]
    ranking: list[Rank]
    quick: NotRequired[str | None]
    measured: NotRequired[list[MeasuredRow]]
    judgement: NotRequired[Judgement | None]
    prices: NotRequired[Prices | None]
    verdict: str
    folder: NotRequired[str | None]
