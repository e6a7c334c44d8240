"""The document of ``analyze``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ackclock.documents.parts import Open, SummaryStats

Side = Literal["a2b", "b2a"]
"""From the client (a) to the server (b), or back."""


class Frames(Open):
    """Frame numbers of the capture, as Wireshark counts them."""

    first: int
    last: int


class Handshake(Open):
    """The handshake and its options."""

    complete: bool
    client_side_ms: float | None
    server_side_ms: float | None
    mss: int | None
    sack: bool
    timestamps: bool
    window_scaling: bool
    ecn: bool
    ended: str


class Vantage(Open):
    """Where the capture was taken."""

    place: Literal["client", "server", "middle", "unknown"]
    to_client_ms: float | None
    to_server_ms: float | None


class Outstanding(Open):
    """Bytes that are sent and not ACKed."""

    mean: float | None
    max: int


class Limited(Open):
    """What limited a direction: shares of its time; null where the capture does not show it."""

    receive_window: float
    send_buffer: float | None
    path_rate: float | None
    cwnd: float | None
    application: float | None
    recovery: float
    unseen: float | None


class AckIntervals(SummaryStats):
    """Intervals of ACKs."""

    histogram: list[dict[str, Any]]
    segments_per_ack: float | None
    stretched_share: float | None
    compressed_share: float | None


class AdvertisedWindow(Open):
    """Receive windows, scaled."""

    min: int | None
    mean: float | None
    max: int | None


class Cause(Open):
    """Retransmissions of one cause."""

    count: int
    confidence: float


class Event(Open):
    """A retransmission, a reordered or duplicate packet, a probe or a reset."""

    frame: int
    time_s: float
    kind: str
    confidence: float
    rule: str | None
    offset: int
    bytes: int


class BottleneckBuffer(Open):
    """The bottleneck's buffer by two captures."""

    min_based: float | None
    max_based: float | None
    rate_bps: float | None
    filled: bool


class TrafficDirection(Open):
    """One direction of a connection. The last fields are of two captures."""

    packets: int
    segments: int
    payload_bytes: int
    unique_bytes: int
    retransmitted_segments: int
    retransmission_rate: float | None
    rto_retransmits: int
    fast_retransmits: int
    tlp_retransmits: int
    go_back_n_retransmits: int
    spurious_retransmits: int
    out_of_order: int
    network_duplicates: int
    duplicate_acks: int
    rtt_ms: SummaryStats
    timestamp_rtt_ms: SummaryStats
    outstanding_bytes: Outstanding
    throughput_bps: float | None
    goodput_bps: float | None
    window_limited_share: float | None
    limited: Limited | None
    recovery_share: float | None
    idle_share: float | None
    ack_interarrival_ms: AckIntervals
    advertised_window_bytes: AdvertisedWindow
    causes: dict[str, Cause]
    spurious: dict[str, int]
    repairs: dict[str, int]
    pure_acks: int
    zero_window_probes: int
    zero_windows: int
    zero_window: dict[str, Any]
    unanswered: dict[str, Any]
    think_time: dict[str, Any]
    keep_alives: int
    resets: int
    ecn: dict[str, int]
    bad_checksums: int
    largest_segment_bytes: int
    first_data_ms: float | None
    tail_ms: float | None
    ttl: dict[str, int | None]
    inferred_path: dict[str, Any] | None
    events: list[Event] | None = None
    sender_side_capture: int | None = None
    one_way_delay_ms: SummaryStats | None = None
    loss_rate: float | None = None
    lost: dict[str, Any] | None = None
    loss_bursts: dict[str, Any] | None = None
    link_stalls: list[Any] | None = None
    bottleneck_buffer_bytes: BottleneckBuffer | None = None
    delay_loss_correlation: float | None = None
    loss_cause: dict[str, Any] | None = None


class Finding(Open):
    """A finding of the diagnosis."""

    direction: Side
    finding: str
    share: float | None
    evidence: str
    advice: str


class Connection(Open):
    """A TCP connection; ``client`` and ``server`` are addresses with ports."""

    client: str
    server: str
    packets: int
    bytes: int
    frames: Frames
    start_s: float
    duration_s: float
    handshake_rtt_ms: float | None
    handshake: Handshake
    vantage: Vantage
    reset: dict[str, Any]
    a2b: TrafficDirection
    b2a: TrafficDirection
    flow: int | None = None
    diagnosis: list[Finding] | None = None
    limit: dict[Side, str | None] | None = None


class Verdict(Open):
    """The verdict on the capture."""

    verdict: str
    share: float | None
    flow: int | None
    direction: Side | None
    evidence: str


class Connections(Open):
    """Numbers of connections by their fate."""

    established: int
    refused: int
    unanswered: int
    reset: int


class TopRow(Open):
    """A host, a port or a flow, whose number `flow` is."""

    name: str
    flow: int | None = None
    flows: int
    bytes: int
    retransmitted_segments: int
    time_lost_s: float


class TopList(Open):
    """The hosts, ports or flows with the largest values of a quantity."""

    of: str
    by: str
    rows: list[TopRow]


class FindingCount(Open):
    """In how many flows a finding is."""

    finding: str
    flows: int


class Summary(Open):
    """The capture as a whole."""

    verdict: Verdict
    connections: Connections
    top: list[TopList]
    findings: list[FindingCount]


class Clock(Open):
    """The second capture's clock relative to the first's."""

    offset_ms: float
    offset_interval_ms: tuple[float, float]
    skew_ppm: float
    assumption: str


class CaptureFacts(Open):
    """A capture file and its connections."""

    capture: str
    packets: int
    tcp_packets: int
    malformed: int
    malformed_kinds: dict[str, int]
    truncated: Any
    skipped: dict[str, int]
    bad_checksums: int
    fragments: dict[str, int]
    cut_short: int
    time_backwards: int
    mirrored_packets: int
    start_s: float | None
    duration_s: float
    flows: list[Connection]
    udp: dict[str, int]
    concurrent: list[dict[str, Any]]


class CaptureAnalysis(CaptureFacts):
    """The document of an analysis. The last fields are of two captures."""

    udp_flows: list[dict[str, Any]] | None = None
    summary: Summary | None = None
    flows_left_out: int | None = Field(None, description="connections that `--flows` leaves out")
    clock: Clock | None = None
    joined_flows: int | None = None
    partners: list[tuple[int, int]] | None = None
    second: CaptureFacts | None = None
