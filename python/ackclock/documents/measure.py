"""The document of ``measure``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ackclock.documents.parts import Direction, Open, SummaryStats

Interval = tuple[float, float]


class Proportion(Open):
    """A share with Wilson's 95 % interval."""

    rate: float
    lo: float
    hi: float


class Bottleneck(Open):
    """The bottleneck by a stream that filled the path; null of other datagrams."""

    rate_bps: float | None
    min_based_bytes: float | None
    max_based_bytes: float | None
    filled: bool
    losses_are: Literal["congestion", "radio", "both", "unclear"]


class Datagrams(Open):
    """Datagrams of one direction."""

    direction: Direction
    payload_bytes: int
    ip_bytes: int
    asked_gap_us: float
    sent: int
    sent_gap_us: SummaryStats | None
    sent_bps: float | None
    received: int
    received_bps: float | None
    duplicated: int
    reordered: int
    loss: Proportion | None
    loss_bursts: int
    delay_variation_ms: SummaryStats | None
    one_way_delay_ms: SummaryStats | None
    min_delay_interval_ms: Interval | None = Field(alias="least_delay_interval_ms")
    bottleneck: Bottleneck


class Step(Datagrams):
    """Datagrams at a given rate."""

    share: float | None
    asked_bps: float


class RateWindows(Open):
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


class JitterStats(Open):
    """Delay variation without a queue."""

    p50_ms: float
    p95_ms: float
    stream_mean_ms: float
    stream_sd_ms: float
    in_order: bool


class BucketBurst(Open):
    """Bytes that passed above the rate before the rate limit applied."""

    burst_bytes: float
    lo: float
    hi: float


class ArrivalStalls(Open):
    """Pauses of the arrivals."""

    count: int
    longest_ms: float


class Queue(Open):
    """Statements about the queue of one direction."""

    kind: Literal["droptail", "per-flow", "codel-like", "pie-like", "aqm", "unknown"]
    because: str
    losses: Literal["overflow", "aqm", "channel", "both", "none", "unknown"]
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


class BufferInterval(Open):
    """Ends of the buffer's interval, bytes."""

    min_based: float | None
    max_based: float | None


class Capacity(Open):
    """Capacity and queue of one direction."""

    rate_bps: float | None
    at_least: bool
    packet_bytes: int
    buffer_bytes: BufferInterval
    overflowed: bool
    queue: Queue
    sent: Datagrams


class SocketValues(Open):
    """Values of one end's kernel."""

    congestion: str | None
    send_buffer: int | None
    receive_buffer: int | None
    mss: int | None


class GivenValues(Open):
    """Values of both ends' kernels."""

    sender: SocketValues | None
    receiver: SocketValues | None


class Asked(Open):
    """Requested congestion control and socket buffer."""

    congestion: str | None
    buffer: str


class Flow(Open):
    """A bulk transfer."""

    flow: str
    test: int
    label: str
    purpose: str
    direction: Direction
    variant: str | None
    goodput_bps: float | None
    received_bytes: int | None
    duration_s: float
    segments_sent: int | None
    retransmitted_segments: int | None
    retransmission_rate: float | None
    rtt_ms: SummaryStats | None
    asked: Asked
    given: GivenValues
    failed: str | None


class PhaseRates(Open):
    """One connection in a phase."""

    goodput_bps: float | None
    rtt_p50_ms: float | None


class Phase(Open):
    """A phase of two transfers; the second one runs in the phase ``during``."""

    seconds: float
    first: PhaseRates
    second: PhaseRates | None


class Beside(Open):
    """A transfer before, during and after one of the opposite direction."""

    test: int
    label: str
    first: Direction
    offset_s: float
    before: Phase
    during: Phase
    after: Phase


class Announced(Open):
    """The estimate of the measurement; bytes once the capacity is known."""

    seconds: float
    bytes: float | None


class Concurrent(Open):
    """Concurrent connections of one direction."""

    test: int
    label: str
    direction: Direction
    flows: int
    goodput_bps: float
    jain: float | None


class Shaping(Open):
    """TCP beside UDP in one direction."""

    verdict: Literal["TCP is shaped, UDP is not", "not shaped", "unknown"]
    tcp_bps: float | None
    udp_bps: float | None
    share: float | None


class TransferTimes(Open):
    """Sequential transfers of one size."""

    test: int
    direction: Direction
    size: str
    bytes: int
    completed: int
    failed: int
    handshake_ms: SummaryStats | None
    completion_ms: SummaryStats | None


class Responsiveness(Open):
    """Round trips per minute under load, with a 95 % interval if there are enough probes."""

    rpm: float
    lo: float | None
    hi: float | None
    beside_load_ms: float
    on_load_ms: float
    probes: int


class Load(Open):
    """The connections that fill the path."""

    flows: int
    goodput_bps: float


class LatencyUnderLoad(Open):
    """RTTs and delays beside bulk transfers in one direction."""

    load: Load
    direction: Direction
    handshake_ms: SummaryStats | None
    exchange_ms: SummaryStats | None
    on_load_ms: SummaryStats | None
    responsiveness: Responsiveness | None
    delay: dict[Direction, Datagrams]


class HopCapacity(Open):
    """Capacity of the link before a hop."""

    bps: float | None
    lo: float | None
    hi: float | None
    valid: bool
    why: str


class Hop(Open):
    """A hop of the path."""

    hop: int
    addresses: list[str]
    reached: bool
    sent: int
    answered: int
    loss_rate: float | None
    rtt_ms: SummaryStats | None
    residual_ms: float | None
    sizes: Any
    capacity: HopCapacity


class Failure(Open):
    """The test that failed."""

    test: str
    label: str
    why: str


class Measurement(Open):
    """The document of a measurement."""

    host: str
    port: int
    address: str | None
    started: str = Field(description="ISO 8601, UTC")
    labels: dict[str, str]
    seconds: float
    far_end: dict[str, Any] | None
    near_clock: dict[str, Any] | None
    clock: dict[str, Any] | None
    path: list[Hop] | None
    delay: dict[Direction, Datagrams] | None
    capacity: dict[Direction, Capacity]
    steps: list[Step]
    flows: list[Flow]
    bidirectional: list[Beside]
    concurrent: list[Concurrent]
    shaping: dict[Direction, Shaping]
    transfers: list[TransferTimes]
    latency_under_load: dict[Direction, LatencyUnderLoad]
    tests: list[dict[str, Any]]
    announced: Announced | None
    ip_bytes: int
    unsent_datagrams: int
    held_datagrams: int
    cut_short: list[str]
    unfinished: list[str]
    failed: Failure | None
    capture: dict[str, Any] | None = None
    capture_far: dict[str, Any] | None = None
    pps: dict[str, Any] | None = None
    pps_far: dict[str, Any] | None = None
