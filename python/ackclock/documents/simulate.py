"""The documents of ``simulate`` and ``sweep``."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ackclock.documents.parts import Direction, Limit, Limits, Metrics, Open, SummaryStats


class HopShare(Open):
    """A share of a flow's time at one hop."""

    hop: str
    direction: Direction
    share: float


class FlowPath(Open):
    """What the hops of a flow's path did in its time."""

    saturated: HopShare | None
    ack_saturated: HopShare | None
    ack_wait: HopShare | None
    ack_wait_ms: float


class ProbeSize(Open):
    """The probes of one size."""

    ip_bytes: int
    sent: int
    lost: int
    rtt_ms: SummaryStats


class Datagrams(Open):
    """The losses of a flow of datagrams; a lost one counts as infinite delay (RFC 7679)."""

    lost: int
    delay_p95_ms: float | None


class ModelRates(Open):
    """Closed forms at the run's loss rate and RTT."""

    loss: float | None
    window_bps: float | None
    mathis_bps: float | None
    padhye_bps: float | None
    padhye_approx_bps: float | None
    cubic_bps: float | None


class SimulatedFlow(Open):
    """A flow; rates by the payload and the IP bytes delivered over its time."""

    flow: str
    variant: str
    direction: Direction
    client: int
    goodput_bps: float | None
    throughput_bps: float | None
    rtt_ms: SummaryStats
    retransmitted_segments: int
    retransmission_rate: float | None
    timeouts: int
    fast_retransmits: int
    window_cuts: int
    ecn_cuts: int
    marked_segments: int
    idle_share: float | None
    limited_share: dict[str, float] | None
    path: FlowPath | None
    advertised_window_bytes: int | None
    limiting_window_bytes: float | None
    limiting_window_rtt_ms: float | None
    segments_sent: int
    completed_s: float | None
    host_start_s: float | None
    from_s: float
    end_s: float
    model: ModelRates | None
    limits: Limits | None
    limit: Limit | None
    why: str | None
    feeds: str | None = Field(None, description="the flow to which a proxy forwards the data")
    one_way_delay_ms: SummaryStats | None = Field(None, description="of datagrams")
    datagrams: Datagrams | None = Field(None, description="of datagrams")
    probes: list[ProbeSize] | None = Field(None, description="of the workload probe")


class HopTime(Open):
    """Shares of the time of one direction of a hop, which add up to 1."""

    sending: float
    overhead: float
    blocked: float
    idle: float


class Recording(Open):
    """The part of a recorded rate that the run replayed."""

    start_s: float
    period_s: float


class SimulatedHop(Open):
    """One direction of a hop."""

    hop: str
    direction: Direction
    utilization: float | None
    time: HopTime
    full_share: float
    queue_delay_ms: SummaryStats
    queue_packets_mean: float
    drops: int
    drops_by_cause: dict[str, int]
    marks: int
    delivered: int
    control_packets: int
    recording: Recording | None = None


class Engine(Open):
    """Work of the simulator."""

    elements_called: int
    data_packets: int


class Run(Open):
    """One run."""

    scenario: str
    seed: int
    flows: list[SimulatedFlow]
    hops: list[SimulatedHop]
    jain: float | None
    engine: Engine
    jobs: dict[str, Any] | None = Field(None, description="transfers that end, and their times")
    proxies: list[dict[str, Any]] | None = None


class Simulation(Run):
    """The document of one seed."""

    folder: str | None = None


class SeedSummary(Open):
    """Metrics over the seeds."""

    n: int
    metrics: Metrics


class SeededSimulation(Open):
    """The document of several seeds."""

    scenario: str
    runs: list[Run]
    summary: SeedSummary
    folder: str | None = None


class SweepCell(Open):
    """The runs of one combination of parameters."""

    params: dict[str, Any]
    n: int
    metrics: Metrics


class Sweep(Open):
    """The document of a sweep."""

    cells: list[SweepCell]
    digest: str = Field(description="of the rows' contents, whatever the number of parts")
    folder: str | None = None
