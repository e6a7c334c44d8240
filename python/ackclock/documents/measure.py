"""The document of ``measure``."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ackclock.documents.engine import (
    ClockEstimate,
    ClockState,
    DirectionStats,
    Proportion,
    StampResults,
    SummaryStats,
    Welcome,
)
from ackclock.documents.parts import Direction

QueueKind = Literal["droptail", "per-flow", "codel-like", "pie-like", "aqm", "unknown"]
LossOrigin = Literal["overflow", "aqm", "channel", "both", "none", "unknown"]


class Step(DirectionStats):
    """DirectionStats at a given rate."""

    share: float | None
    asked_bps: float


class RateWindows(TypedDict):
    """Rate of IP that the link carries, b/s."""

    mean_bps: float
    lo_bps: float
    hi_bps: float
    p5_bps: float
    p50_bps: float
    p95_bps: float
    windows: int
    wanders: bool
    busy_share: float


class ChannelLosses(Proportion):
    """Losses of datagrams that met no queue."""

    lost: int
    sent: int


class JitterStats(TypedDict):
    """Delay variation without a queue."""

    p50_ms: float
    p95_ms: float
    stream_mean_ms: float
    stream_sd_ms: float
    in_order: bool


class BucketBurst(TypedDict):
    """Bytes that passed above the rate before the rate limit applied."""

    burst_bytes: float
    lo: float
    hi: float


class ArrivalStalls(TypedDict):
    """Pauses of the arrivals."""

    count: int
    longest_ms: float


class Queue(TypedDict):
    """Statements about the queue of one direction."""

    kind: QueueKind
    because: str
    losses: LossOrigin
    buffer_bytes: float | None
    buffer_lo_bytes: float | None
    buffer_hi_bytes: float | None
    tcp_queue_ms: float | None
    stream_queue_ms: float | None
    stream_queue_bytes: float | None
    stream_grows: bool | None
    rate: RateWindows | None
    channel_loss: ChannelLosses | None
    jitter: JitterStats | None
    token_bucket: BucketBurst | None
    stalls: ArrivalStalls | None


class BufferInterval(TypedDict):
    """Ends of the buffer's interval, bytes."""

    min_based: float | None
    max_based: float | None


class LateHost(TypedDict):
    """How far the hosts did not keep up with the stream above the capacity."""

    host: Annotated[str, Field(description="the sending host: `this host` or `the far end`")]
    sent_share: Annotated[float | None, Field(description="sent rate over the requested one")]
    unsent: int
    pause_share: Annotated[float, Field(description="share of the time in which the sender paused")]
    longest_pause_ms: float
    overrun: Annotated[int, Field(description="datagrams that the receiving host dropped itself")]


class Capacity(TypedDict):
    """Capacity and queue of one direction; a lower bound, with its reason, where `queue.rate` is
    null."""

    rate_bps: float | None
    at_least: bool
    at_least_because: str | None
    packet_bytes: int
    buffer_bytes: BufferInterval
    overflowed: bool
    queue: Queue
    late: LateHost | None
    sent: DirectionStats


class SocketValues(TypedDict):
    """Values of one end's kernel."""

    congestion: str | None
    send_buffer: int | None
    receive_buffer: int | None
    mss: int | None


class GivenValues(TypedDict):
    """Values of both ends' kernels."""

    sender: SocketValues | None
    receiver: SocketValues | None


class Asked(TypedDict):
    """Requested congestion control and socket buffer."""

    congestion: str | None
    buffer: str


class FlowFigures(TypedDict):
    """The figures of a bulk transfer by both ends."""

    variant: str | None
    goodput_bps: float | None
    received_bytes: int | None
    duration_s: float
    segments_sent: int | None
    retransmitted_segments: int | None
    retransmission_rate: float | None


class Flow(FlowFigures):
    """A bulk transfer."""

    flow: str
    test: int
    label: str
    purpose: str
    direction: Direction
    rtt_ms: SummaryStats | None
    asked: Asked
    given: GivenValues
    failed: str | None


class PhaseRates(TypedDict):
    """One connection in a phase."""

    goodput_bps: float | None
    rtt_p50_ms: float | None


class Phase(TypedDict):
    """A phase of two transfers; the second one runs in the phase ``during``."""

    seconds: float
    first: PhaseRates
    second: PhaseRates | None


class Phases(TypedDict):
    """The phases of a transfer beside another one."""

    before: Phase
    during: Phase
    after: Phase


class Beside(Phases):
    """A transfer before, during and after one of the opposite direction."""

    test: int
    label: str
    first: Direction
    offset_s: float


class Renewed(TypedDict):
    """The estimate of the whole measurement after a test, `at_s` seconds from its start."""

    after: str
    at_s: float
    seconds: float
    bytes: float | None


class Announced(TypedDict):
    """The estimate of the measurement; bytes once the capacity is known. Renewed after each
    test."""

    seconds: float
    bytes: float | None
    renewed: list[Renewed]


class LeftOut(TypedDict):
    """A part of the plan that did not fit in the bytes."""

    test: str
    label: str


class Shortened(TypedDict):
    """A test whose runs were shorter than planned, so that the bytes suffice."""

    test: str
    seconds: float
    planned_s: float


class ByteUse(TypedDict):
    """IP bytes of the whole measurement, both directions, with ACKs and the far end's reports."""

    max: int
    used: int
    control: Annotated[int, Field(description="of the control connection: requests, reports, captures")]
    left_out: list[LeftOut]
    shortened: list[Shortened]


class Concurrent(TypedDict):
    """Concurrent connections of one direction."""

    test: int
    label: str
    direction: Direction
    flows: int
    goodput_bps: float
    jain: float | None


class Shaping(TypedDict):
    """TCP beside UDP in one direction."""

    verdict: Literal["TCP is shaped, UDP is not", "not shaped", "unknown"]
    tcp_bps: float | None
    udp_bps: float | None
    share: float | None


class TransferTimes(TypedDict):
    """Sequential transfers of one size."""

    test: int
    direction: Direction
    size: str
    bytes: int
    completed: int
    failed: int
    handshake_ms: SummaryStats | None
    completion_ms: SummaryStats | None


class ResponsivenessInterval(TypedDict):
    """Round trips per minute under load, with a 95 % interval if there are enough probes."""

    rpm: float
    lo: float | None
    hi: float | None
    beside_load_ms: float
    on_load_ms: float
    probes: int


class Load(TypedDict):
    """The connections that fill the path."""

    flows: int
    goodput_bps: float


class LatencyUnderLoad(TypedDict):
    """RTTs and delays beside bulk transfers in one direction."""

    load: Load
    direction: Direction
    handshake_ms: SummaryStats | None
    exchange_ms: SummaryStats | None
    on_load_ms: SummaryStats | None
    responsiveness: ResponsivenessInterval | None
    delay: dict[Direction, DirectionStats]


class ProbeRow(TypedDict):
    """A probe with a TTL; `answer`: ``expired``, ``reached``, ``too-big``, ``refused`` or null."""

    hop: int
    ip_bytes: int
    rtt_ms: float | None
    address: str | None
    answer: str | None
    brisk: bool


class HopCapacity(TypedDict):
    """Capacity of the link before a hop."""

    bps: float | None
    lo: float | None
    hi: float | None
    valid: bool
    why: str


class Hop(TypedDict):
    """A hop of the path."""

    hop: int
    addresses: list[str]
    reached: bool
    sent: int
    answered: int
    loss_rate: float | None
    rtt_ms: SummaryStats | None
    residual_ms: float | None
    sizes: int
    capacity: HopCapacity


class Failure(TypedDict):
    """The test that failed."""

    test: str
    label: str
    why: str


class Purpose(TypedDict):
    """What a test is for: its kind, and the parameters of that kind."""

    kind: str
    label: NotRequired[str]
    way: NotRequired[Direction]
    share: NotRequired[float | None]
    asked_bps: NotRequired[float]
    asked: NotRequired[Asked]
    size: NotRequired[str]
    first: NotRequired[Direction]
    offset_s: NotRequired[float]


class PurposeOfTest(Purpose):
    """The purpose of a test by its number; `shown`: its datagrams are in the report."""

    test: int
    shown: bool


class MeasuredSession(TypedDict):
    """The figures of a session by test."""

    clock: ClockEstimate | None
    path: list[Hop] | None
    delay: dict[Direction, DirectionStats] | None
    capacity: dict[Direction, Capacity]
    steps: list[Step]
    flows: list[Flow]
    bidirectional: list[Beside]
    concurrent: list[Concurrent]
    shaping: dict[Direction, Shaping]
    transfers: list[TransferTimes]
    latency_under_load: dict[Direction, LatencyUnderLoad]
    tests: list[PurposeOfTest]
    announced: Announced | None
    bytes: ByteUse | None
    ip_bytes: int
    unsent_datagrams: int
    held_datagrams: int
    cut_short: list[str]
    unfinished: list[str]
    failed: Failure | None


class CaptureState(TypedDict):
    """A capture of the session's headers, and why it is not whole."""

    file: str
    dropped: int | None
    broken: NotRequired[str]


class PulseState(TypedDict):
    """Pulses of a clock, and why they are not valid."""

    file: str
    pulses: int
    broken: NotRequired[str]


class MeasurementHead(TypedDict):
    """What was measured, and between which ends."""

    host: str
    port: int
    address: str | None
    started: Annotated[str, Field(description="ISO 8601, UTC")]
    labels: dict[str, str]
    seconds: float
    far_end: Welcome | None
    near_clock: ClockState | None
    capture: NotRequired[CaptureState]
    capture_far: NotRequired[CaptureState]
    pps: NotRequired[PulseState]
    pps_far: NotRequired[PulseState]


class Measurement(MeasurementHead, MeasuredSession):
    """The document of a measurement."""


class StampDocument(StampResults):
    """The document of ``measure --stamp``."""

    host: str
    port: int
