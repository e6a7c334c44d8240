"""The Rust module, with the events of a congestion control in Python."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, final

from ackclock.congestion_control import CongestionControl
from ackclock.documents.engine import (
    CaptureSummary,
    Catalogue,
    DirectionReport,
    EmulationReport,
    FindingText,
    FitReport,
    FlowExplanation,
    FlowReport,
    Limits,
    LinkFit,
    LinkShape,
    ProgramRow,
    Quotas,
    Report,
    Responsiveness,
    SessionResults,
    SessionWelcome,
    StampResults,
    Summary,
    SummaryStats,
    TestResult,
    UdpFlowReport,
)
from ackclock.hunting.space import Node
from ackclock.packetdrill.stack_settings import ScriptSettings

__version__: str

@final
class Batch:
    """The results of several runs, in their order."""

    def summaries(self) -> list[Summary]: ...
    def stored_summaries(self) -> Table: ...
    def series(self) -> Table: ...
    def hops(self) -> Table: ...

@final
class Batches:
    """Threads that run plans."""

    def __new__(cls, threads: int) -> Self: ...
    def run(
        self,
        plans: list[str],
        runs: list[tuple[int, int, bool]],
        first: int,
        controls: dict[str, type[CongestionControl]] | None = None,
    ) -> Batch: ...
    def stop(self) -> None: ...

@final
class CheckedTable:
    """A checked table of a link file or scenario. Its keys are attributes: times in picoseconds,
    rates in bits per second, sizes in bytes.
    """

    @property
    def table_name(self) -> str:
        """The name of the table, such as `CoDel`."""

    def __getattr__(self, key: str) -> Any: ...
    def plan(self) -> dict[str, Any]:
        """The engine's configuration, as a plan has it."""

    def written(self, given: bool = False) -> dict[str, Any]:
        """The table as a file has it: all keys, or those that it was read with."""

def read_table(name: str, value: object) -> CheckedTable:
    """Read a table, such as `CoDel`, or one of several kinds, such as `Queue`. Raises
    `ackclock.errors.InvalidValue`.
    """

@final
class Scenario:
    """A checked scenario. Times in picoseconds, rates in bits per second, sizes in bytes."""

    @property
    def title(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def hop(self) -> tuple[CheckedTable, ...]:
        """The hops, server first."""

    @property
    def tunnel(self) -> tuple[CheckedTable, ...]:
        """The [[tunnel]] tables."""

    @property
    def duration(self) -> int: ...
    @property
    def seeds(self) -> tuple[int, ...]: ...
    @property
    def clients(self) -> int: ...
    @property
    def sample(self) -> int:
        """Interval of the time series; 0: none."""

    @property
    def phase_jitter(self) -> bool: ...
    @property
    def tcp(self) -> CheckedTable:
        """The keys of [tcp]."""

    @property
    def flow(self) -> tuple[CheckedTable, ...]:
        """The [[flow]] tables."""

    @property
    def window(self) -> str | tuple[int, int]:
        """The measured part: "all", "all-active", or two times, negative ones before the end."""

    def has_key(self, key: str) -> bool:
        """Whether a key was given."""

    def flow_names(self) -> list[str]:
        """Base names of the [[flow]] tables, in order: their own, or `flow1`, `flow2`, .. by
        position.
        """

    def hops_of(self, flow: CheckedTable) -> tuple[CheckedTable, ...]:
        """The hops on a flow's path, server first."""

    def tcp_of(self, flow: CheckedTable, end: str | None = None) -> Tcp:
        """All TCP keys of one end of a flow, resolved: "server", "client", or the sender of the
        data.
        """

    def warnings(self) -> list[str]:
        """A sentence for each part that has no effect."""

    def resolved(self, swept: list[str] = ...) -> dict[str, Any]:
        """The scenario as plain values of a file, with all defaults. `swept`: the paths that a
        sweep varies; if one sets other keys, TCP keys are written as given.
        """

    def plan(self, seed: int, captures: list[dict[str, Any]] | None = None, live: bool = False) -> Plan:
        """The plan of a run. `captures` are as a plan has them; `live`: of an emulation."""

    def with_seeds(self, seeds: Sequence[int]) -> Scenario:
        """The same scenario with other seeds."""

    def with_hops(self, hops: Sequence[CheckedTable]) -> Scenario:
        """The same scenario over other hops, which are not checked with the flows."""

    def drawn(self, draw: Sequence[tuple[str, float]]) -> Scenario:
        """The same scenario over the link of a draw: values by dotted path, rates in bits/s, times
        in ms, sizes in bytes. The hops are not checked with the flows. Raises
        `ackclock.errors.InvalidValue`.
        """

def read_scenario(data: object) -> Scenario:
    """Read the tables of a scenario, whose link is among its hops. Raises
    `ackclock.errors.InvalidValue`.
    """

@final
class Draft:
    """A scenario that is not read yet: its tables, and the folder to which its paths are
    relative.
    """

    def __new__(cls, tables: dict[str, Any], folder: str) -> Self: ...
    def points(self) -> list[dict[str, Any]]:
        """Every combination of the swept values by dotted path; one empty point without a sweep.
        Raises `ackclock.errors.InvalidValue`.
        """

    def written(self, point: dict[str, Any]) -> dict[str, Any]:
        """The keys of a point as written, with those of the link. None removes a key."""

    def scenario(self, point: dict[str, Any]) -> Scenario:
        """The scenario at a point. Raises `ackclock.errors.InvalidValue`, whose `varied` is the
        path of a wrong value of the point, and `link` the link's file if it is there.
        """

    def with_swept_kinds(self, point: dict[str, Any], resolved: dict[str, Any]) -> dict[str, Any]:
        """A resolved scenario of a point, with each table whose kind the point sets as it is
        written.
        """

def searched_keys(vary: dict[str, Any]) -> dict[str, Node]:
    """The nodes of [hunt.vary] by dotted path. Raises `ackclock.errors.InvalidValue`, whose key is
    below [hunt.vary].
    """

def value_at(tables: dict[str, Any], path: str) -> Any:
    """The value at a dotted path of a scenario's tables; None without one."""

def with_absolute_traces(tables: Any, folder: str) -> Any:
    """The same tables with absolute paths of recorded rates, which are relative to `folder`."""

def flow_instances(flow: CheckedTable, base: str) -> list[str]:
    """Names of the single flows of a [[flow]] table with this base name."""

@final
class Tcp:
    """All TCP keys of a flow or of one of its ends, with defaults and words resolved. Sizes in
    bytes, times in ps, windows in segments.
    """

    @property
    def host(self) -> str:
        """Name of the host stack."""

    @property
    def keys(self) -> dict[str, Any]:
        """The keys that the host stack or the flow has."""

    @property
    def overhead(self) -> int | None:
        """The maximum random delay of a packet in its host, if it is explicit."""

    def plan(self) -> dict[str, Any]:
        """TCP as a plan has it."""

    def written(self) -> dict[str, Any]:
        """All keys as a [tcp] table has them."""

def resolve_tcp(tables: list[CheckedTable], end: str | None = None) -> Tcp:
    """TCP of an end, "server" or "client", or of both, by tables of which later ones override
    earlier ones, with all keys of its host stack resolved.
    """

@final
class Plan:
    """The plan of a run (crates/scenario/src/scenario/plan)."""

    @property
    def document(self) -> dict[str, Any]:
        """Its values, with digests of recordings."""

    @property
    def digest(self) -> str:
        """SHA-256 over the plan without its captures; recordings count by their contents."""

    @property
    def flow_names(self) -> list[str]:
        """Names of its flows, in order."""

    @property
    def user_classes(self) -> list[str]:
        """Names of its classes in Python, of congestion controls and rate controllers."""

    def text(self) -> str:
        """The JSON that the engine reads."""

    def expanded(self) -> dict[str, Any]:
        """The plan as plain values, the times of recordings included."""

def plan_of(document: dict[str, Any], recordings: Sequence[tuple[str, list[int]]]) -> Plan:
    """A plan of another process: its document, and digest and times of its recordings."""

def read_quantity(kind: str, value: object) -> int:
    """A "time" in picoseconds, a "rate" in bits per second, a "size" in bytes. Raises
    `ackclock.errors.InvalidValue`.
    """

def show_quantity(kind: str, number: int) -> str:
    """The shortest text of a "time", a "rate" or a "size" that reads back."""

PHASE_START_PS: int

def table_schema(name: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The JSON Schema of a table as the value of a key, and the definitions of tables by name."""

def table_kinds(name: str) -> list[tuple[str, str]]:
    """The tables that a table with several kinds may be: kind and name."""

def table_names() -> list[str]:
    """The names of all tables with keys."""

def table_keys(name: str) -> list[tuple[str, str, str, str, str, str]]:
    """The keys of a table, in the order in which they are checked: name, unit, default, limits,
    text, example.
    """

class ControlError(Exception):
    """A congestion control raised; its exception is the cause."""

class NativeError(Exception):
    """The base of the engine's errors; the fields are those of `ackclock.errors.AckclockError`, ""
    and None for what is not known.
    """

    file: str | None
    line: int | None
    key: str
    option: str
    found: str
    allowed: str
    statement: str
    hint: str

class InputError(NativeError):
    """Bad input."""

class PlanError(InputError):
    """A plan that cannot be run."""

class FailedError(NativeError):
    """The work failed."""

@final
class Ack:
    """An ACK. Times in seconds, amounts in segments, rates in segments per second."""

    now: float
    """Time since the start of the run."""
    growth_credit: float
    """Segments of growth: 1, or the segments that the ACK covers, up to the host's limit of byte
    counting (RFC 3465).
    """
    acked: int
    """Segments that the ACK number newly acknowledges."""
    delivered: int
    """Segments that the ACK is the first to report as received, by its number or by SACK; set in
    `on_delivery` only.
    """
    lost: int
    """Segments that were marked lost since the last ACK; set in `on_delivery` only."""
    in_flight: int
    """Segments in flight after the ACK."""
    rtt: float | None
    """RTT sample: that of the newest acknowledged segment that was transmitted once."""
    srtt: float | None
    """Smoothed RTT (RFC 6298)."""
    min_rtt: float | None
    """Minimum RTT of the connection so far."""
    cwnd_limited: bool
    """cwnd limits the sender; where it does not, cwnd should not grow (RFC 7661)."""
    recovering: bool
    """The connection is in recovery, or in the slow start after a timeout; set in `on_delivery`
    only.
    """
    acked_total: int
    """Segments acknowledged since the start of the connection."""
    sent: int
    """Segments sent since the start of the connection, retransmissions not counted. A round trip
    ends when `acked_total` exceeds the value that `sent` had at its start.
    """
    rate: float | None
    """Delivery rate over the flight of the newest segment received; set in `on_delivery` only."""
    app_limited: bool
    """The application had too little data when that segment was sent; set in `on_delivery` only."""
    prior_delivered: int | None
    """Segments delivered before that segment was sent; set in `on_delivery` only."""
    delivered_total: int | None
    """Segments delivered since the start of the connection; set in `on_delivery` only."""
    tx_in_flight: int | None
    """Segments in flight when that segment was sent, itself included; set in `on_delivery` only."""

@final
class Congestion:
    """A congestion signal."""

    now: float
    """Time since the start of the run, in seconds."""
    signal: str
    """"duplicates" (a loss detected by duplicate ACKs, SACK or RACK), "timeout", or "ecn" (an ECE
    flag).
    """
    flight: float
    """FlightSize (RFC 5681), in segments."""

@final
class Loss:
    """A segment that is marked lost."""

    now: float
    """Time since the start of the run, in seconds."""
    segment: int
    """The segment's index since the start of the connection."""
    tx_in_flight: int
    """Segments in flight when the segment was sent, itself included."""
    lost: int
    """Segments marked lost since the segment was sent, itself included."""
    app_limited: bool
    """The application had too little data when the segment was sent."""

@final
class RateSample:
    """What a rate controller knows when a response to a ping arrives. Times in seconds, rates in
    bits per second.
    """

    now: float
    """Time since the start of the run."""
    reflector: int
    """Which of the pingers got the response, from 0."""
    delay: float
    """One-way delay in the direction of the shaper; half of `rtt` with the method fping."""
    rtt: float
    """Round-trip time."""
    achieved: float
    """Rate that left the shaper in the last interval of the monitor; 0 in the first one."""
    readings: int
    """Number of readings of `achieved` so far."""
    rate: float
    """The shaper's rate."""

@final
class Table:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@final
class Run:
    def summary(self) -> Summary: ...
    def series(self) -> Table: ...
    def hops(self) -> Table: ...

def is_capture(path: str | Path) -> bool: ...
def is_qlog(path: str | Path) -> bool: ...
def read_qlog(path: str | Path) -> tuple[Report, Table]: ...
def strip_capture(path: str | Path, out: str | Path) -> tuple[int, int, int]: ...
def kind_rules() -> list[tuple[str, str, str]]: ...
def congestion_control_families() -> list[tuple[str, str]]: ...

@final
class CaptureReader:
    def __new__(
        cls,
        path: str | Path,
        only: str,
        series: bool = False,
        pulses: tuple[str, str] | None = None,
        follow: bool = False,
    ) -> Self: ...
    def examine_all_controls(self) -> None: ...
    def advance(self, max: int) -> int: ...
    def finish(self) -> None: ...
    def ended(self) -> bool: ...
    def series(self) -> tuple[Table, int] | None: ...
    def report(self, names: Sequence[str]) -> CaptureReport: ...

@final
class CapturePairReader:
    def __new__(
        cls,
        first: str | Path,
        second: str | Path,
        only: str,
        series: bool = False,
        pulses: tuple[tuple[str, str], tuple[str, str]] | None = None,
        clock_error_ns: float | None = None,
    ) -> Self: ...
    def examine_all_controls(self) -> None: ...
    def advance(self, max: int) -> int: ...
    def finish(self) -> None: ...
    def series(self) -> tuple[Table, int] | None: ...
    def delays(self) -> Table: ...
    def report(self, names: Sequence[str]) -> CaptureReport: ...

@final
class EndCapture:
    def __new__(cls, path: str | Path, only: str, is_alone: bool = False) -> Self: ...
    def advance(self, max: int) -> int: ...
    def finish(self) -> None: ...

@final
class CaptureReport:
    """The report of the packets that a reader has read; flows have numbers from 1."""

    def head(self) -> Report: ...
    def counts(self) -> tuple[int, int]: ...
    def select(self, numbers: Sequence[int]) -> None: ...
    def flows(self, numbers: Sequence[int]) -> list[FlowReport]: ...
    def second_flows(self, numbers: Sequence[int]) -> list[FlowReport]: ...
    def partner(self, number: int) -> int | None: ...
    def summary(self) -> CaptureSummary: ...
    def largest(self, count: int) -> list[int]: ...
    def with_end(self, end: str) -> list[int]: ...
    def udp_flows(self, numbers: Sequence[int]) -> list[UdpFlowReport]: ...
    def largest_udp(self, count: int) -> list[int]: ...
    def rows(self, numbers: Sequence[int]) -> Table: ...
    def text(self, series_left_out: int | None = None, with_rows: bool = False) -> DocumentText: ...

@final
class DocumentText:
    """The JSON of a report in pieces."""

    def __iter__(self) -> DocumentText: ...
    def __next__(self) -> bytes: ...
    def rows(self, min: int = 1) -> Table | None:
        """The rows of the flows that are written since the last call; None if there are fewer than
        `min`. `CaptureReport.text` was called with `with_rows`.
        """

@final
class LimitFacts:
    """The figures of one flow's limit, or their means over several flows or runs
    (crates/diagnose/src/limit/facts.rs).

    `shares` are the shares of the flow's time by kind (`ackclock.limit_words.KINDS`), `direction`
    is that of the data. Figures that are not named are 0, and `window_cap` is "buffer".
    """

    def __new__(cls, shares: Mapping[str, float], direction: str, **figures: float | str | bool) -> Self: ...
    @staticmethod
    def mean(facts: Sequence[LimitFacts]) -> LimitFacts:
        """The means; of names and causes the most frequent. The receive window is that of the time
        in which it limits: flows that it limits for longer count more.
        """

    def decide(self) -> dict[str, Any]: ...
    @property
    def shares(self) -> dict[str, float]: ...
    @property
    def kind(self) -> str: ...
    @property
    def loss(self) -> str:
        """Why cwnd was reduced most often: "overflow", "channel", "mark"; "none" without a
        reduction.
        """

    @property
    def direction(self) -> str: ...
    @property
    def flow(self) -> str: ...
    @property
    def bottleneck(self) -> str: ...
    @property
    def ack_hop(self) -> str: ...
    @property
    def loss_hop(self) -> str: ...
    @property
    def window_cap(self) -> str: ...
    @property
    def window_bytes(self) -> float: ...
    @property
    def window_rtt_ms(self) -> float: ...

def run(plan: str, controls: dict[str, type[CongestionControl]] | None = None) -> Run: ...
def document_types() -> list[tuple[str, str, list[tuple[str, str, str, bool]]]]:
    """The types of the documents' parts, each after those that it has: name, text, and keys with
    their text, annotation, and whether every document has them.
    """

def catalogue() -> Catalogue: ...
def on_wire(framing: str, size: int) -> int: ...
def granted_bps(direction: str, packet: int) -> int: ...
def limit_words() -> list[dict[str, str]]: ...
def explain_limits(summary: Summary, plan: Mapping[str, Any]) -> list[FlowExplanation]: ...
def limit_facts(summary: Summary, plan: Mapping[str, Any], connections: bool) -> dict[str, LimitFacts]: ...

ENOUGH_BYTES: int
"""Data of a direction whose limits are diagnosed, in bytes."""

def findings() -> list[FindingText]: ...
def has_queue(max_bytes: float | None, rate_bps: float | None) -> bool: ...
def capture_limit_shares(
    limited: Limits | Mapping[str, float],
    data_ms: SummaryStats | None,
    acks_ms: SummaryStats | None,
    min_rtt_ms: float,
) -> dict[str, float]: ...
def loss_models(figures: DirectionReport) -> tuple[float, float, float] | None: ...
def significant(value: float, digits: int) -> str: ...
def rate_text(bps: float | None) -> str: ...
def rate_range_text(low: float, high: float) -> str: ...
def percent_text(share: float | None) -> str: ...
def milliseconds_text(value: float | None) -> str: ...
def share_text(share: float) -> str: ...
def size_text(bytes: float) -> str: ...
def count_text(number: float, noun: str, nouns: str) -> str: ...
def emulate(plan: str, options: str, classes: dict[str, type[Any]] | None = None) -> EmulationReport: ...
def run_programs(plan: str, options: str) -> str: ...
def program_rows(plan: str, one: str, other: str) -> list[ProgramRow]: ...
def window_over_rtt(window: float, rtt: float) -> float: ...
def mathis(loss: float, rtt: float, per_ack: float) -> float: ...
def padhye_full(loss: float, rtt: float, rto: float, per_ack: float, max_window: float) -> float: ...
def padhye_approx(loss: float, rtt: float, rto: float, per_ack: float, max_window: float) -> float: ...
def cubic_response(loss: float, rtt: float, c: float, beta: float) -> float: ...
def path_walk(host: str, plan: str, watch: Callable[[float], None]) -> Table: ...
def serve(options: str, announce: Callable[[str, str | None], None]) -> None: ...
def ackclockd(arguments: list[str]) -> int: ...
def new_token(path: str) -> None: ...
def read_token(path: str) -> str: ...
def default_caps() -> Quotas: ...
def stamp(at: tuple[str, int], key_file: str | None, gap_ns: int, count: int) -> StampResults: ...
def packetdrill_run(
    text: str, tcp: str, options: str, control: dict[str, type[CongestionControl]] | None = None
) -> dict[str, Any]: ...
def packetdrill_settings(text: str) -> ScriptSettings: ...
def carried_at_end(capture: EndCapture, server_sends: bool, is_sender: bool) -> float | None: ...
def fit_link(captures: Sequence[EndCapture], clock_error_ns: float | None, draws: int, seed: int) -> FitReport: ...
def link_shape(captures: Sequence[EndCapture]) -> LinkShape: ...
def fit_sender_end(
    capture: EndCapture, server_sends: bool, queue_drops: bool, draws: int, seed: int
) -> LinkFit | None: ...
def summary_stats(values: list[float]) -> SummaryStats: ...
def added_delay_grade(added_ms: float) -> str: ...
def responsiveness(handshakes: list[float], exchanges: list[float], on_load: list[float]) -> Responsiveness | None: ...

@final
class LiveSession:
    def __new__(cls, host: str, port: int, token: str) -> Self: ...
    def welcome(self) -> SessionWelcome: ...
    def run(self, specs: str, start_after_ns: list[int], watch: Callable[[float], None]) -> list[TestResult]: ...
    def control_bytes(self) -> int: ...
    def keep_alive(self) -> None: ...
    def so_far(self) -> tuple[SessionResults, Table, Table]: ...
    def capture(self, bytes: int) -> None: ...
    def captured(self) -> tuple[bytes, int]: ...
    def finish(self) -> tuple[SessionResults, Table, Table]: ...
