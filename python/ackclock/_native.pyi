"""The Rust module, with the events of a congestion control in Python."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ackclock.congestion_control import CongestionControl

__version__: str

class Batch:
    """The results of several runs, in their order."""

    def summaries(self) -> list[str]: ...
    def series(self) -> Table: ...
    def hops(self) -> Table: ...

class Batches:
    """Threads that run plans."""

    def __init__(self, threads: int) -> None: ...
    def run(
        self,
        plans: list[str],
        runs: list[tuple[int, int, bool]],
        first: int,
        controls: dict[str, type[CongestionControl]] | None = None,
    ) -> Batch: ...
    def stop(self) -> None: ...

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

class Ack:
    """What an ACK says. Times in seconds, amounts in segments, rates in segments a second."""

    now: float
    """Time since the start of the run."""
    credit: float
    """Growth it earns: 1, or the segments it covers up to the host's byte-counting limit (RFC
    3465).
    """
    acked: int
    """Segments it takes off the scoreboard."""
    delivered: int
    """Segments of which it is the first to say that they arrived, by number or SACK; in
    `on_delivery` only.
    """
    lost: int
    """Segments taken for lost since the last ACK; in `on_delivery` only."""
    in_flight: int
    """Segments in flight after it."""
    rtt: float | None
    """Its sample, of the newest segment it acknowledges that was sent once."""
    srtt: float | None
    """The smoothed round trip (RFC 6298)."""
    min_rtt: float | None
    """The smallest so far."""
    limited: bool
    """The window held the sender back, so there is reason to grow it (RFC 7661)."""
    recovering: bool
    """A recovery, or what follows a timeout, is in force; in `on_delivery` only."""
    cleared: int
    """Segments acknowledged since the connection began."""
    sent: int
    """Segments sent, each counted once: a round trip is over when `cleared` passes what `sent` was
    at its start.
    """
    rate: float | None
    """Delivery rate over the flight of the newest segment that arrived; in `on_delivery` only."""
    app_limited: bool
    """That segment left while the application had too little to send; in `on_delivery` only."""
    prior_delivered: int | None
    """Segments that had arrived when it left; in `on_delivery` only."""
    delivered_total: int | None
    """Segments that have arrived in all; in `on_delivery` only."""
    tx_in_flight: int | None
    """Segments in flight when it left, itself included; in `on_delivery` only."""

class Congestion:
    """A congestion signal."""

    now: float
    """Time since the start of the run, in seconds."""
    signal: str
    """"duplicates" (loss by duplicate ACKs, SACKs or time), "timeout", or "ecn" (a mark was
    echoed).
    """
    flight: float
    """FlightSize of RFC 5681, in segments."""

class Loss:
    """A segment taken for lost."""

    now: float
    segment: int
    """Its number since the connection began."""
    tx_in_flight: int
    """Segments in flight when it left, itself included."""
    lost: int
    """Segments taken for lost since it left, itself included."""
    app_limited: bool

class Table:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class Run:
    def summary(self) -> str: ...
    def series(self) -> Table: ...
    def hops(self) -> Table: ...

class CaptureReader:
    def __init__(
        self,
        path: str | Path,
        only: str,
        series: bool = False,
        pulses: tuple[str, str] | None = None,
        follow: bool = False,
    ) -> None: ...
    def advance(self, max_packets: int) -> int: ...
    def finish(self) -> None: ...
    def ended(self) -> bool: ...
    def series(self) -> tuple[Table, int] | None: ...
    def report(self, thresholds: str) -> CaptureReport: ...

class CapturePairReader:
    def __init__(
        self,
        first: str | Path,
        second: str | Path,
        only: str,
        series: bool = False,
        pulses: tuple[tuple[str, str], tuple[str, str]] | None = None,
        clock_error_ns: float | None = None,
    ) -> None: ...
    def advance(self, max_packets: int) -> int: ...
    def finish(self) -> None: ...
    def series(self) -> tuple[Table, int] | None: ...
    def delays(self) -> Table: ...
    def report(self, thresholds: str) -> CaptureReport: ...

class CaptureReport:
    """The report of the packets that a reader has read; flows have numbers from 1."""

    def head(self) -> str: ...
    def counts(self) -> tuple[int, int]: ...
    def flow(self, number: int) -> str: ...
    def second_flow(self, number: int) -> str: ...
    def partner(self, number: int) -> int | None: ...
    def with_ends_of(self, number: int) -> tuple[list[int], list[int]]: ...
    def rates_of_others(self, number: int) -> tuple[float, float]: ...
    def to_diagnose(self) -> list[int]: ...
    def largest(self, count: int) -> list[int]: ...
    def with_end(self, end: str) -> list[int]: ...
    def flows_text(
        self, numbers: Sequence[int], findings: Mapping[int, Sequence[tuple[str, str, float | None, str, str]]]
    ) -> bytes: ...
    def second_flows_text(self, numbers: Sequence[int]) -> bytes: ...
    def rows(self, numbers: Sequence[int]) -> Table: ...

def run(plan: str, controls: dict[str, type[CongestionControl]] | None = None) -> Run: ...
def catalogue() -> str: ...
def wimax_bps(cell: str) -> tuple[int, int]: ...
def emulate(plan: str, options: str) -> str: ...
def window_over_rtt(window: float, rtt: float) -> float: ...
def mathis(loss: float, rtt: float, per_ack: float) -> float: ...
def padhye_full(loss: float, rtt: float, rto: float, per_ack: float, max_window: float) -> float: ...
def padhye_approx(loss: float, rtt: float, rto: float, per_ack: float, max_window: float) -> float: ...
def cubic_response(loss: float, rtt: float, c: float, beta: float) -> float: ...
def path_walk(host: str, plan: str, watch: Callable[[float], None]) -> Table: ...
def serve(options: str, announce: Callable[[str, str | None], None]) -> None: ...
def ackclockd(words: list[str]) -> int: ...
def new_token(path: str) -> None: ...
def read_token(path: str) -> str: ...
def default_caps() -> str: ...
def stamp(address: tuple[str, int], key_file: str | None, gap_ns: int, count: int) -> str: ...
def packetdrill_run(text: str, tcp: str, tolerance_us: int, trace: bool) -> str: ...
def packetdrill_settings(text: str) -> str: ...
def summary_stats(values: list[float]) -> str: ...
def responsiveness(handshakes: list[float], exchanges: list[float], on_load: list[float]) -> str: ...

class LiveSession:
    def __init__(self, host: str, port: int, token: str) -> None: ...
    def welcome(self) -> str: ...
    def run(self, specs: str, watch: Callable[[float], None]) -> str: ...
    def keep_alive(self) -> None: ...
    def so_far(self) -> tuple[str, Table, Table]: ...
    def capture(self, bytes: int) -> None: ...
    def captured(self) -> tuple[bytes, int]: ...
    def finish(self) -> tuple[str, Table, Table]: ...
