"""Parts of documents that the engine makes. Written by tools/document_types.py from the structs of
crates/.
"""

from typing import Literal, NotRequired, TypedDict

class SummaryStats(TypedDict):
    """All but `count` are none without values. The unit is that of the values; documents name it
    at the end of the field (`rtt_ms`).
    """

    count: int
    min: float | None
    mean: float | None
    sd: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None

class QuicRow(TypedDict):
    """What a QUIC stack did. Its `retransmitted_segments` are packets that the sender declared
    lost.
    """

    stack: Literal["noq 1.4"]
    back_packets: int
    back_bytes: int
    spurious_cuts: int
    closed_s: float | None
    closed_by: str | None

class DatagramRow(TypedDict):
    """The losses of a flow of datagrams."""

    lost: int
    delay_p95_ms: float | None

class MeanAndWorst(TypedDict):
    """Of the windows of a call."""

    mean: float | None
    p10: float | None

class AppScore(TypedDict):
    """What people feel of a flow's application: the keys of its kind."""

    mos: NotRequired[MeanAndWorst]
    rating: NotRequired[MeanAndWorst]
    windows: NotRequired[int]
    mouth_to_ear_ms: NotRequired[float | None]
    unplayed_share: NotRequired[float | None]
    deadline_ms: NotRequired[float]
    late_share: NotRequired[float | None]
    over_50_ms_share: NotRequired[float | None]
    over_100_ms_share: NotRequired[float | None]
    lost_share: NotRequired[float | None]
    rtt_p50_ms: NotRequired[float | None]
    rtt_p95_ms: NotRequired[float | None]
    load_s: NotRequired[float | None]
    byte_index_s: NotRequired[float | None]
    bytes: NotRequired[int]
    arrived_bytes: NotRequired[int]
    start_s: NotRequired[float | None]
    stalls: NotRequired[int]
    stall_s: NotRequired[float]
    played_s: NotRequired[float]
    bitrate_bps: NotRequired[float | None]
    lines: NotRequired[int | None]
    switches: NotRequired[int]
    top_share: NotRequired[float | None]
    delay_p95_ms: NotRequired[float | None]
    freezes: NotRequired[int]
    freeze_s: NotRequired[float]

class AppRow(TypedDict):
    """The application of a flow as people feel it."""

    kind: Literal["call", "game", "page", "video", "conference"]
    score: AppScore
    grade: str | None

class ProbeRow(TypedDict):
    """The probes of one size, over the whole run."""

    ip_bytes: int
    sent: int
    lost: int
    rtt_ms: SummaryStats

class HopShareRow(TypedDict):
    hop: str
    direction: Literal["down", "up"]
    share: float

class PathRow(TypedDict):
    """What the hops of a flow's path did in the flow's time."""

    saturated: HopShareRow | None
    ack_saturated: HopShareRow | None
    ack_wait: HopShareRow | None
    ack_wait_ms: float

class FlowRow(TypedDict):
    flow: str
    variant: str
    direction: Literal["down", "up"]
    client: int
    feeds: NotRequired[str]
    goodput_bps: float | None
    throughput_bps: float | None
    rtt_ms: SummaryStats
    one_way_delay_ms: NotRequired[SummaryStats]
    quic: NotRequired[QuicRow]
    datagrams: NotRequired[DatagramRow]
    app: NotRequired[AppRow]
    part_of: NotRequired[str]
    probes: NotRequired[list[ProbeRow]]
    retransmitted_segments: int
    retransmission_rate: float | None
    timeouts: int
    fast_retransmits: int
    window_cuts: int
    ecn_cuts: int
    marked_segments: int
    idle_share: float | None
    limited_share: dict[str, float] | None
    path: PathRow | None
    advertised_window_bytes: int | None
    limiting_window_bytes: float | None
    limiting_window_rtt_ms: float | None
    segments_sent: int
    completed_s: float | None
    host_start_s: float | None
    from_s: float
    end_s: float

class TimeRow(TypedDict):
    """Shares of the time of one direction of a hop, which add up to 1."""

    sending: float
    overhead: float
    blocked: float
    idle: float

class RecordingRow(TypedDict):
    """The part of a recorded rate that the run replayed: from `start_s` on, repeated after
    `period_s`.
    """

    start_s: float
    period_s: float

class HopRow(TypedDict):
    hop: str
    direction: Literal["down", "up"]
    utilization: float | None
    time: TimeRow
    full_share: float
    queue_delay_ms: SummaryStats
    queue_packets_mean: float
    drops: int
    drops_by_cause: dict[str, int]
    marks: int
    delivered: int
    control_packets: int
    recording: NotRequired[RecordingRow]

class LoadedRoundTrips(TypedDict):
    """What load does to round trips beside it and on it."""

    rpm: float
    beside_load_ms: float
    on_load_ms: float
    added_p95_ms: float
    grade: Literal["A+", "A", "B", "C", "D", "F"]

class JobRow(TypedDict):
    job: str
    number: int
    client: int
    start_s: float
    completed_s: float | None

class Jobs(TypedDict):
    """All jobs that started in the run."""

    count: int
    completed: int
    mean_s: float | None
    sd_s: float | None
    p50_s: float | None
    p95_s: float | None
    max_s: float | None
    list: list[JobRow]

class ProxyRow(TypedDict):
    """A proxy between two flows, and its maximum bytes of buffered data in each direction."""

    proxy: str
    near: str
    far: str
    held_bytes_max: dict[str, int]

class Engine(TypedDict):
    elements_called: int
    data_packets: int

class Summary(TypedDict):
    seed: int
    flows: list[FlowRow]
    hops: list[HopRow]
    jain: float | None
    responsiveness: NotRequired[LoadedRoundTrips]
    jobs: NotRequired[Jobs]
    proxies: NotRequired[list[ProxyRow]]
    engine: Engine

class FlowLimit(TypedDict):
    """The limit of a flow."""

    kind: str
    hop: str | None
    direction: Literal["down", "up"] | None
    cause: str | None
    because: str

class FlowExplanation(TypedDict):
    """What a run's document has about the limit of one flow; nulls without packets."""

    flow: str
    limits: dict[str, float] | None
    limit: FlowLimit | None
    why: str | None

class Truncation(TypedDict):
    """The position at which reading of a damaged capture stopped."""

    kind: str
    packet: int
    byte: int
    end: int

class NotDecodedReport(TypedDict):
    """Packets of one protocol in which no TCP and no UDP was reached."""

    kind: str
    packets: int
    carries_data: bool

class TunnelReport(TypedDict):
    """Packets with TCP or UDP in a tunnel, or in tunnels within each other."""

    kind: str
    packets: int
    min_overhead_bytes: int
    max_overhead_bytes: int
    largest_inner_bytes: int
    inner_mtu_bytes: int
    fragmented_packets: int

class FragmentReport(TypedDict):
    """Counts of IP fragments with TCP in them."""

    pieces: int
    reassembled: int
    incomplete: int

class FrameRange(TypedDict):
    """Numbers of a flow's first and last packet in the capture, from 1, as Wireshark counts
    frames.
    """

    first: int
    last: int

class HandshakeReport(TypedDict):
    """The handshake and what it negotiated."""

    complete: bool
    client_side_ms: float | None
    server_side_ms: float | None
    mss: int | None
    sack: bool
    timestamps: bool
    window_scaling: bool
    ecn: bool
    ended: str
    client_sack: bool
    server_sack: bool
    client_timestamps: bool
    server_timestamps: bool
    client_ecn: bool
    server_ecn: bool
    client_mss: int | None
    server_mss: int | None
    client_window_scale: int | None
    server_window_scale: int | None
    client_option_erased: bool
    server_option_erased: bool

class VantageReport(TypedDict):
    place: Literal["client", "server", "middle", "unknown"]
    to_client_ms: float | None
    to_server_ms: float | None

ResetReport = TypedDict(
    "ResetReport",
    {
        "kind": str | None,
        "from": Literal["client", "server"] | None,
        "at_s": float | None,
        "ttl": int | None,
        "usual_ttl": int | None,
        "packets_after": int,
        "went_on_at_s": float | None,
        "accepted_after": bool,
    },
)

class MptcpReport(TypedDict):
    """A subflow of multipath TCP (RFC 8684). Its figures are those of the subflow."""

    subflow: Literal["first", "additional"]
    accepted: bool
    first_flow: int | None

class Bytes(TypedDict):
    mean: float | None
    max: int

class Limits(TypedDict):
    """Shares that add up to one. A capture that is not at the sender does not show its windows
    and queues: only recovery and the zero window are then known, and the rest is `unknown`.
    """

    receive_window: float | None
    send_buffer: float | None
    path_rate: float | None
    cwnd: float | None
    application: float | None
    recovery: float
    unseen: float | None

class HistogramBin(TypedDict):
    up_to: int | None
    count: int

class AckGaps(TypedDict):
    """Times between the ACKs for this direction's data, at the capture point."""

    count: int
    min: float | None
    mean: float | None
    sd: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    histogram: list[HistogramBin]
    segments_per_ack: float | None
    stretched_share: float | None
    compressed_share: float | None

class WindowReport(TypedDict):
    min: int | None
    mean: float | None
    max: int | None

class KindReport(TypedDict):
    count: int
    confidence: float

class SpuriousReport(TypedDict):
    dsack: int
    timestamp: int
    early_ack: int
    of_timeouts: int
    early_timeouts: int

class RepairReport(TypedDict):
    timeouts: int
    recoveries: int
    new_data_probes: int
    fast_then_timeout: int
    pairs: int
    pairs_not_needed: int
    lost_upstream: int
    unseen_transmissions: int
    missed_bytes: int

class ZeroWindowReport(TypedDict):
    acks: int
    closed_s: float
    longest_s: float
    closed_at_end_s: float | None
    opened_by_probe: int

class UnansweredReport(TypedDict):
    what: str | None
    bytes: int
    copies: int
    sent_at_s: list[float]
    lasted_s: float | None

class ThinkTimeReport(TypedDict):
    count: int
    total_s: float
    longest_s: float
    longest_at_s: float | None

class UnansweredProbesReport(TypedDict):
    """At least three probes without an answer."""

    count: int
    first_at_s: float | None

class LateAckReport(TypedDict):
    """An ACK is late if it comes 30 ms and more beyond the minimum RTT."""

    acks: int
    held_small: int
    held_full: int
    waited_s: float
    mean_ms: float | None
    sd_ms: float | None

class EcnReport(TypedDict):
    marked: int
    echoed: int
    reduced: int

class TtlReport(TypedDict):
    syn: int | None
    data: int | None

class EventReport(TypedDict):
    """One event of a direction."""

    frame: int
    time_s: float
    kind: str
    confidence: float
    rule: str | None
    offset: int
    bytes: int

class CandidateReport(TypedDict):
    """A congestion control, or `other` for none of those known."""

    name: str
    likelihood: float

class CongestionControlReport(TypedDict):
    """By the replay of each congestion control with the ACKs that the sender received."""

    family: str
    candidates: list[CandidateReport]
    confident: bool

class BucketReport(TypedDict):
    rate_bps: float
    burst_bytes: float
    peak_bps: float

class PolicerReport(TypedDict):
    """A policer: what exceeds `rate_bps * t + burst_bytes` is dropped, and nothing waits."""

    rate_bps: float
    burst_bytes: float
    drops: int
    other_losses: int
    passed: int

class PathMtuReport(TypedDict):
    """A size above which no packet arrived, while shorter ones did."""

    delivered_bytes: int
    lost_bytes: int
    lost: int
    peer_silent: bool

class PathEstimate(TypedDict):
    """Estimated from the spacing of ACKs at the sender, elsewhere from that of data packets."""

    by: str
    rate_bps: float | None
    share: float | None
    in_bursts: bool
    token_bucket: BucketReport | None
    policer: PolicerReport | None
    path_mtu: PathMtuReport | None

class LostPacket(TypedDict):
    time_s: float
    sequence: int
    bytes: int

class LostReport(TypedDict):
    sent: int
    between_captures: int
    capture_drops_receiver: int
    capture_drops_sender: int
    network_duplicates: int
    packets: list[LostPacket]

class OneBurst(TypedDict):
    start_s: float
    duration_ms: float
    lost_span_ms: float
    sent: int
    lost: int
    peak_share: float

class BurstReport(TypedDict):
    bin_ms: int
    above_50: int
    above_80: int
    all_lost: int
    bursts: list[OneBurst]

class StallReport(TypedDict):
    start_s: float
    duration_ms: float

class BufferReport(TypedDict):
    min_based: float | None
    max_based: float | None
    rate_bps: float | None
    filled: bool
    doubts: list[str]
    token_bucket: BucketReport | None

class LossCauseReport(TypedDict):
    verdict: str
    radio_share: float | None
    lost_behind_bottleneck: int
    lost_before_bottleneck: int
    lost_in_stalls: int
    evidence: str

class DirectionReport(TypedDict):
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
    outstanding_bytes: Bytes
    throughput_bps: float | None
    goodput_bps: float | None
    window_limited_share: float | None
    limited: Limits | None
    recovery_share: float | None
    idle_share: float | None
    ack_interarrival_ms: AckGaps
    advertised_window_bytes: WindowReport
    causes: dict[str, KindReport]
    spurious: SpuriousReport
    repairs: RepairReport
    pure_acks: int
    zero_window_probes: int
    zero_windows: int
    zero_window: ZeroWindowReport
    unanswered: UnansweredReport
    think_time: ThinkTimeReport
    keep_alives: int
    unanswered_keep_alives: UnansweredProbesReport
    late_acks: LateAckReport
    resets: int
    ecn: EcnReport
    bad_checksums: int
    largest_segment_bytes: int
    first_data_ms: float | None
    tail_ms: float | None
    ttl: TtlReport
    events: NotRequired[list[EventReport]]
    congestion_control: CongestionControlReport | None
    inferred_path: PathEstimate | None
    sender_side_capture: NotRequired[int]
    one_way_delay_ms: NotRequired[SummaryStats]
    loss_rate: NotRequired[float | None]
    lost: NotRequired[LostReport]
    loss_bursts: NotRequired[BurstReport]
    link_stalls: NotRequired[list[StallReport]]
    bottleneck_buffer_bytes: NotRequired[BufferReport]
    delay_loss_correlation: NotRequired[float | None]
    loss_cause: NotRequired[LossCauseReport]
    policer: NotRequired[PolicerReport | None]
    path_mtu: NotRequired[PathMtuReport | None]

class Finding(TypedDict):
    """A finding, which a rule of crates/diagnose makes."""

    direction: Literal["a2b", "b2a"]
    finding: str
    owner: Literal["sender", "receiver", "application", "router", "operator", "network", "capture"]
    share: float | None
    sentence: str
    evidence: str
    advice: str

class DirectionLimits(TypedDict):
    """The kind of limit of each direction; none if the capture does not show it."""

    a2b: str | None
    b2a: str | None

class FlowReport(TypedDict):
    flow: NotRequired[int]
    protocol: NotRequired[str]
    client: str
    server: str
    packets: int
    bytes: int
    frames: FrameRange
    start_s: float
    duration_s: float
    handshake_rtt_ms: float | None
    handshake: HandshakeReport
    vantage: VantageReport
    reset: ResetReport
    translation_of: NotRequired[int]
    mptcp: NotRequired[MptcpReport]
    a2b: DirectionReport
    b2a: DirectionReport
    diagnosis: NotRequired[list[Finding]]
    limit: NotRequired[DirectionLimits]

class UdpReport(TypedDict):
    """Totals of all UDP flows."""

    flows: int
    quic_flows: int
    packets: int
    bytes: int
    left_out: int

class UdpDirectionReport(TypedDict):
    packets: int
    bytes: int
    spin_rtt_ms: SummaryStats | None
    sender_side_capture: NotRequired[int]
    one_way_delay_ms: NotRequired[SummaryStats]
    loss_rate: NotRequired[float | None]
    lost: NotRequired[LostReport]
    loss_bursts: NotRequired[BurstReport]
    link_stalls: NotRequired[list[StallReport]]
    bottleneck_buffer_bytes: NotRequired[BufferReport]
    delay_loss_correlation: NotRequired[float | None]
    loss_cause: NotRequired[LossCauseReport]
    policer: NotRequired[PolicerReport | None]
    path_mtu: NotRequired[PathMtuReport | None]

class UdpFlowReport(TypedDict):
    """One UDP flow. The client sent its first datagram."""

    client: str
    server: str
    protocol: str
    quic_version: str | None
    frames: FrameRange
    start_s: float
    duration_s: float
    a2b: UdpDirectionReport
    b2a: UdpDirectionReport
    diagnosis: NotRequired[list[Finding]]

class FlowCorrelation(TypedDict):
    """Correlation of two concurrent directions of data."""

    flows: tuple[int, int]
    directions: tuple[str, str]
    correlation: float
    bins: int
    bin_s: float

class VerdictReport(TypedDict):
    """The party that most of the transfers' time, or of the connections, was lost to."""

    verdict: str
    share: float | None
    flow: int | None
    direction: Literal["a2b", "b2a"] | None
    evidence: str

class ConnectionCounts(TypedDict):
    """Connections by their handshake, and those that ended with a reset."""

    established: int
    refused: int
    unanswered: int
    half_open: int
    midstream: int
    reset: int

class TopRow(TypedDict):
    name: str
    flow: NotRequired[int]
    flows: int
    bytes: int
    retransmitted_segments: int
    time_lost_s: float

class TopList(TypedDict):
    of: str
    by: str
    rows: list[TopRow]

class FindingCount(TypedDict):
    """Number of flows with a finding."""

    finding: str
    flows: int

class CaptureSummary(TypedDict):
    verdict: NotRequired[VerdictReport]
    customer: NotRequired[str]
    operator: NotRequired[str]
    connections: ConnectionCounts
    top: list[TopList]
    findings: NotRequired[list[FindingCount]]

class ClockReport(TypedDict):
    """The second capture's clock relative to the first's."""

    offset_ms: float
    offset_interval_ms: tuple[float, float]
    skew_ppm: float
    skew_interval_ppm: tuple[float, float]
    assumption: str
    conflict_ms: float | None
    overtaking_packets: int
    late_timestamps: int

class Report(TypedDict):
    capture: NotRequired[str]
    packets: int
    tcp_packets: int
    malformed: int
    malformed_kinds: dict[str, int]
    truncated: Truncation | None
    skipped: dict[str, int]
    not_decoded: list[NotDecodedReport]
    tunnels: list[TunnelReport]
    bad_checksums: int
    fragments: FragmentReport
    cut_short: int
    time_backwards: int
    max_step_back_s: float
    mirrored_packets: int
    start_s: float | None
    duration_s: float
    flows: list[FlowReport]
    flows_left_out: NotRequired[int]
    udp: UdpReport
    udp_flows: NotRequired[list[UdpFlowReport]]
    concurrent: list[FlowCorrelation]
    summary: NotRequired[CaptureSummary]
    clock: NotRequired[ClockReport | None]
    joined_flows: NotRequired[int]
    joined_udp_flows: NotRequired[int]
    partners: NotRequired[list[tuple[int, int]]]
    second: NotRequired[Report]
    series_left_out: NotRequired[int]

class RunReport(TypedDict):
    """The captures of both ends over one time."""

    captures: list[tuple[int, int]]
    starts_s: list[float]
    flows: int
    duration_s: float
    offset_ms: float
    offset_interval_ms: tuple[float, float]
    skew_ppm: float

class FramingEvidence(TypedDict):
    """The evidence of a framing."""

    lens: list[int]
    packets: int

class FittedFramingEvidence(TypedDict):
    """A parameter in the unit that its field names, with the evidence for it."""

    status: Literal["identified", "bounded"]
    value: float | None
    lo: float | None
    hi: float | None
    draws: list[float]
    evidence: FramingEvidence

class FramingFit(TypedDict):
    """A framing: bytes in addition to the IP packet."""

    cells: Literal["none", "atm", "ptm"]
    knows_cells: bool
    overhead: FittedFramingEvidence
    mpu: int

class ServiceRate(TypedDict):
    """The evidence of a rate."""

    method: Literal["mode", "mean", "size", "throughput"]
    gaps: int
    busy_s: float
    mode_share: float
    mode_above_mean: float | None
    variation: float | None
    steps: float | None
    bursts: float | None
    contradicted: float | None
    own: float | None
    all_links: float | None
    lens: list[int]

class FittedServiceRate(TypedDict):
    """A parameter in the unit that its field names, with the evidence for it."""

    status: Literal["identified", "bounded"]
    value: float | None
    lo: float | None
    hi: float | None
    draws: list[float]
    evidence: ServiceRate

class BaseDelay(TypedDict):
    """The evidence of a base delay."""

    isolated: int
    len: int
    host: float
    late: float

class FittedBaseDelay(TypedDict):
    """A parameter in the unit that its field names, with the evidence for it."""

    status: Literal["identified", "bounded"]
    value: float | None
    lo: float | None
    hi: float | None
    draws: list[float]
    evidence: BaseDelay

class JitterFamily(TypedDict):
    """A distribution of the extra delay, with the keys of a link file. Times in nanoseconds."""

    kind: Literal["uniform", "exponential", "normal"]
    high: NotRequired[float]
    mean: NotRequired[float]
    sd: NotRequired[float]

class JitterParameter(TypedDict):
    """A parameter of a family with its interval, nanoseconds."""

    key: str
    value: float
    lo: float
    hi: float
    draws: list[float]

class Jitter(TypedDict):
    """The jitter of one direction."""

    status: Literal["identified", "bounded"]
    family: JitterFamily | None
    parameters: list[JitterParameter]
    distance: float | None
    is_described: bool
    in_order: bool | None
    is_by_flow: bool
    packets: int
    p95: float | None

class QueueLimit(TypedDict):
    """The evidence of a limit."""

    finding: Literal["limit", "never-full", "no-sharp-limit", "never-queued", "shared-with-others"]
    max_accepted: float
    drops: int
    overflows: int
    packet: int
    blur: float
    by_delay: float | None

class FittedQueueLimit(TypedDict):
    """A parameter in the unit that its field names, with the evidence for it."""

    status: Literal["identified", "bounded"]
    value: float | None
    lo: float | None
    hi: float | None
    draws: list[float]
    evidence: QueueLimit

class ChannelLoss(TypedDict):
    """The evidence of channel losses."""

    packets: int
    lost: int
    bursts: int
    seconds: float
    burst_packets: float | None
    gain: float
    is_bursty: bool
    at_once: bool
    beside_drops: int | None
    unrecorded: bool

class FittedChannelLoss(TypedDict):
    """A parameter in the unit that its field names, with the evidence for it."""

    status: Literal["identified", "bounded"]
    value: float | None
    lo: float | None
    hi: float | None
    draws: list[float]
    evidence: ChannelLoss

class FittedNone(TypedDict):
    """A parameter in the unit that its field names, with the evidence for it."""

    status: Literal["identified", "bounded"]
    value: float | None
    lo: float | None
    hi: float | None
    draws: list[float]
    evidence: None

class ChannelFit(TypedDict):
    """Share of the time in the bad state, and its mean sojourn in nanoseconds; of independent
    losses the sojourn is bounded from above.
    """

    mean: FittedChannelLoss
    bad_sojourn: FittedNone | None

class PolicerEvidence(TypedDict):
    """The evidence of a policer."""

    drops: int
    runs: int
    other_losses: int
    passed: int
    delay_share: float
    rate_is_open: bool
    like_queue: bool

class PolicerFit(TypedDict):
    """A policer: bit/s and bytes."""

    rate: FittedNone
    burst: FittedNone
    evidence: PolicerEvidence

class ShaperEvidence(TypedDict):
    """The evidence of a shaper."""

    waited: int
    at_once: int
    bursts: int
    peak: float

class ShaperFit(TypedDict):
    """The bucket of a shaper: bit/s and bytes."""

    rate: FittedNone
    burst: FittedNone
    evidence: ShaperEvidence

class PeriodicStalls(TypedDict):
    """Stalls at equal times. Times in nanoseconds."""

    every: FittedNone
    gap: FittedNone
    first: float
    stalls: int

class FramePeriod(TypedDict):
    """The evidence of a period."""

    ns: float
    lo: float
    hi: float
    arrivals: float
    departures: float
    packets: int

class Reordering(TypedDict):
    """The share of packets that others overtook, and the delay that they had in addition."""

    mean: FittedNone
    delay: FittedNone
    overtaken: int
    arrived: int

class ArrivalShape(TypedDict):
    """One direction."""

    max_bytes: list[int]
    delays: list[float]

class RecordedRate(TypedDict):
    """Opportunities of a link over one run."""

    times_ms: list[int]
    seen: float
    mean_bps: float

class RecordedDirection(TypedDict):
    """One direction with a recorded rate."""

    rate: RecordedRate
    min_delay: float
    queue: FittedQueueLimit

class DirectionFit(TypedDict):
    """The parameters of one direction. Times are in nanoseconds."""

    packets: int
    bytes: int
    lost: int
    framing: FramingFit | None
    rate: FittedServiceRate
    base_delay: FittedBaseDelay
    jitter: Jitter
    queue: FittedQueueLimit | None
    loss: ChannelFit
    flow_queues: bool
    marked: bool
    token_bucket: tuple[float, float] | None
    policer: PolicerFit | None
    shaper: ShaperFit | None
    stalls: int
    periodic_stalls: PeriodicStalls | None
    frame_period: FramePeriod | None
    reordering: Reordering | None
    shape: ArrivalShape
    recorded: RecordedDirection | None

class LinkFit(TypedDict):
    """A link."""

    down: DirectionFit
    up: DirectionFit
    delay: FittedNone
    known_clocks: bool

class FitReport(TypedDict):
    """A fit with the runs that it is from."""

    runs: list[RunReport]
    fit: LinkFit

class LinkShape(TypedDict):
    """How packets arrive in both directions of a link: the `shape` of each direction of
    `fit_link`, without the parameters that it needs none of.
    """

    down: ArrivalShape
    up: ArrivalShape

class Entry(TypedDict):
    name: str
    summary: str
    source: str

class Catalogue(TypedDict):
    variants: list[Entry]
    recoveries: list[Entry]
    slow_starts: list[Entry]
    queues: list[Entry]
    linux_rules: list[Entry]

class FindingText(TypedDict):
    """A finding in `ackclock explain` and in the reference."""

    name: str
    group: str
    text: str

class Bound(TypedDict):
    """Bounds of the relative errors that the machine's lateness can have caused: 0.01 is 1 %."""

    goodput: float | None
    rtt_p95: float | None

class HopReport(TypedDict):
    hop: str
    direction: Literal["down", "up"]
    asked_bps: float | None
    achieved_bps: float | None
    drops: int
    marks: int
    delivered: int
    queue_delay_ms_mean: float | None
    recording: NotRequired[RecordingRow]

class ClientReport(TypedDict):
    """The audit of one client."""

    client: int
    valid: bool
    why: str
    grade: Literal["exact", "usable", "unused", "invalid"]
    bound: Bound
    release_error_us: SummaryStats
    input_lateness_us: SummaryStats
    deadline_misses: int
    unintended_drops: int

class CommandReport(TypedDict):
    argv: list[str]
    exit: int | None
    not_run: str | None

class ProcessTimes(TypedDict):
    """Times of a command's processes during the emulation."""

    run_s: float
    wait_s: float
    max_wait_percent: float

class CpuWait(TypedDict):
    """Processes at both ends; null without a command, or where the kernel does not count."""

    server: ProcessTimes | None
    client: ProcessTimes | None

class LogReport(TypedDict):
    """Whether the log covers the whole emulation; if not, the time at which it ends and the
    error.
    """

    complete: bool
    until_s: float | None
    why: str | None

class EmulationReport(TypedDict):
    """The document of `ackclock emulate --json` without the link's name."""

    valid: bool
    why: str
    grade: Literal["exact", "usable", "unused", "invalid"]
    bound: Bound
    notes: list[str]
    release_error_us: SummaryStats
    input_lateness_us: SummaryStats
    deadline_misses: int
    unintended_drops: int
    timer_p99_us: float
    hops: list[HopReport]
    clients: list[ClientReport]
    command: CommandReport
    seconds: float
    started: float
    packets_in: int
    packets_out: int
    load: float
    steal_percent: float
    cpu_seconds: float
    cpu_wait: NotRequired[CpuWait]
    log: LogReport | None

class Lateness(TypedDict):
    """Of datagrams: from when one was due, or from the arrival of what it answers, until it was
    sent; their times of arrival are the kernel's, and have no part in it. Of what is sent
    over TCP: how long the program waited for a CPU before, by the kernel's count, as a
    stream's timestamps may be of segments that waited for another.
    """

    count: int
    late_share: float
    p99_ms: float | None
    max_ms: float | None

class ProgramRow(TypedDict):
    """A program of `emulate --beside`."""

    flow: str
    direction: Literal["down", "up"]
    goodput_bps: float | None
    app: NotRequired[AppRow]
    lateness: Lateness
    valid: bool

class Proportion(TypedDict):
    rate: float
    lo: float
    hi: float

class ClockEstimate(TypedDict):
    """The server's clock relative to the client's."""

    offset_ms: float
    offset_interval_ms: tuple[float, float]
    skew_ppm: float
    skew_interval_ppm: tuple[float, float]
    assumption: str
    steered: bool

class Bottleneck(TypedDict):
    """The bottleneck's rate and buffer, if its queue grew."""

    rate_bps: float | None
    min_based_bytes: float | None
    max_based_bytes: float | None
    filled: bool
    losses_are: str

class DirectionStats(TypedDict):
    direction: Literal["down", "up"]
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
    min_delay_interval_ms: tuple[float, float] | None
    bottleneck: Bottleneck

class StampResults(TypedDict):
    authenticated: bool
    sent: int
    received: int
    loss: Proportion | None
    duplicated: int
    round_trip_ms: SummaryStats | None
    reflector_us: SummaryStats | None
    reflector_synchronised: bool | None
    clock: ClockEstimate | None
    directions: list[DirectionStats]

class Responsiveness(TypedDict):
    rpm: float
    beside_load_ms: float
    on_load_ms: float
    probes: int

class Train(TypedDict):
    """Datagrams at a constant interval."""

    payload: int
    gap_ns: int
    count: int

class TestSpecDatagrams(TypedDict):
    down: Train | None
    up: Train | None

class Bulk(TypedDict):
    """TCP connections with unlimited data."""

    down: int
    up: int
    congestion: str | None
    send_buffer: int | None
    receive_buffer: int | None
    receive_window: int | None
    duration_ns: int
    sample_ns: int
    max_bytes: NotRequired[int]

class Transfers(TypedDict):
    """Sequential TCP connections that transfer a fixed number of bytes each."""

    way: Literal["down", "up"]
    bytes: int
    count: int
    congestion: str | None
    every_ns: int
    limit_ns: int

class TestSpec(TypedDict):
    datagrams: NotRequired[TestSpecDatagrams]
    bulk: NotRequired[Bulk]
    transfers: NotRequired[Transfers]

class FlowOutcome(TypedDict):
    """Results of a connection at one end."""

    flow: int
    sends: bool
    congestion: str
    send_buffer: int
    receive_buffer: int
    mss: int
    bytes: int
    elapsed_ns: int
    retransmitted: int
    segments_sent: int
    why_failed: str | None

class TestResult(TypedDict):
    """Results of one test."""

    test: int
    spec: TestSpec
    began_s: float
    directions: list[DirectionStats]
    near_flows: list[FlowOutcome]
    far_flows: list[FlowOutcome]
    transfers_s: list[tuple[float | None, float | None, float | None]]
    unsent: int
    held: int
    near_overrun: int
    far_overrun: int
    cut_short: str | None

class SessionResults(TypedDict):
    clock: ClockEstimate | None
    tests: list[TestResult]

class Quotas(TypedDict):
    sessions: int
    sessions_per_peer: int
    strangers: int
    strangers_per_peer: int
    rate_bps: int
    session_bytes: int
    test_ns: int
    session_ns: int
    idle_ns: int
    tests: int
    connections: int
    rows: int
    capture_bytes: int

class ClockState(TypedDict):
    """Clock quality by adjtimex(2)."""

    synchronised: bool
    pps: bool
    most_error_ns: int

class Welcome(TypedDict):
    version: str
    system: str
    caps: Quotas
    congestion: list[str]
    clock: ClockState

class SessionWelcome(TypedDict):
    """What a session begins with."""

    far_end: Welcome
    address: str
    clock: ClockState
