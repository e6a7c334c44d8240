"""A live run's results in the fields of `simulate`'s summary that the evaluators read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NotRequired

from typing_extensions import TypedDict

from ackclock.documents.engine import Bound, ClockEstimate, DirectionReport, ProbeRow, SummaryStats, TestResult
from ackclock.papers.live.job import JobDocument, Strand, Walk
from ackclock.statistics.summary_stats import EMPTY_SUMMARY, summary_stats
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.emulate import EmulationAudit

HEADERS = 28
MAX_CAPTURED_FLOWS = 1
"""The connection of a strand with one connection: the one with the most data in the capture."""


class StrandResult(TestResult):
    """The results of a strand's test, and the clocks of its ends."""

    clock: ClockEstimate | None


class GivenBuffers(TypedDict):
    """The socket buffers that the kernel gave, in bytes."""

    send_buffer: int
    receive_buffer: int


class LiveFlow(TypedDict):
    """The fields of a simulated flow that a measurement has: of probes, datagrams or a
    connection.
    """

    flow: str
    variant: str
    probes: NotRequired[list[ProbeRow]]
    congestion: NotRequired[str]
    given: NotRequired[GivenBuffers]
    direction: NotRequired[Literal["down", "up"]]
    throughput_bps: NotRequired[float]
    goodput_bps: NotRequired[float]
    one_way_delay_ms: NotRequired[SummaryStats | None]
    offset_interval_ms: NotRequired[tuple[float, float] | None]
    segments_sent: NotRequired[int]
    held_up_ms: NotRequired[float]
    retransmitted_segments: NotRequired[int]
    retransmission_rate: NotRequired[float]
    window_cuts: NotRequired[int]
    rtt_ms: NotRequired[SummaryStats | None]
    timeouts: NotRequired[int | None]
    fast_retransmits: NotRequired[int | None]
    failed: NotRequired[str | None]


class LiveHop(TypedDict):
    """What a stream shows of its path."""

    hop: str
    direction: Literal["down", "up"]
    drops: int


class LiveSummary(TypedDict):
    """The figures of a run; ``analyses`` are of the captured connections."""

    flows: list[LiveFlow]
    hops: list[LiveHop]
    analyses: NotRequired[dict[str, DirectionReport]]


class Audit(TypedDict):
    """What an emulation says of itself, and the number of attempts."""

    valid: bool
    why: str
    grade: str
    bound: Bound
    release_error_us: SummaryStats
    input_lateness_us: SummaryStats
    deadline_misses: int
    unintended_drops: int
    started: float
    load: float
    steal_percent: float
    attempts: int


class StoredSummary(LiveSummary):
    """summary.json of a run."""

    seed: int
    audit: Audit


def kept(audit: EmulationAudit, attempts: int) -> Audit:
    """The part of an emulation's audit that is kept."""
    return {
        "valid": audit["valid"],
        "why": audit["why"],
        "grade": audit["grade"],
        "bound": audit["bound"],
        "release_error_us": audit["release_error_us"],
        "input_lateness_us": audit["input_lateness_us"],
        "deadline_misses": audit["deadline_misses"],
        "unintended_drops": audit["unintended_drops"],
        "started": audit["started"],
        "load": audit["load"],
        "steal_percent": audit["steal_percent"],
        "attempts": attempts,
    }


def of_walk(walk: Walk, probes: pl.DataFrame) -> LiveFlow:
    """The flow of a walk: round trips of the probes that reached the other end, by size."""
    import polars as pl

    sent = probes.filter(pl.col("hop") == probes["hop"].max())
    rows: list[ProbeRow] = []
    for size in walk["sizes"]:
        of = sent.filter(pl.col("ip_bytes") == size)
        rtts = of["rtt_ms"].drop_nulls().to_list()
        stats = summary_stats(rtts) or EMPTY_SUMMARY
        rows.append({"ip_bytes": size, "sent": of.height, "lost": of.height - len(rtts), "rtt_ms": stats})
    return {"flow": walk["name"], "variant": "udp", "probes": rows}


def of_strands(job: JobDocument, folder: Path, captures: Sequence[Path]) -> tuple[LiveSummary, pl.DataFrame]:
    """The summary of a run of streams and transfers, and its series."""
    import polars as pl

    flows: list[LiveFlow] = []
    hops: list[LiveHop] = []
    analyses: dict[str, DirectionReport] = {}
    series = []
    for number, strand in enumerate(job["strands"]):
        found: StrandResult = read_json(folder / f"strand-{number}.json")
        if strand["variant"] == "udp":
            delays = pl.read_parquet(folder / f"strand-{number}-delays.parquet")
            flow, lost = _datagrams(strand, found, delays, job["window_s"])
            flows.append(flow)
            hops.append({"hop": "path", "direction": strand["direction"], "drops": lost})
        else:
            table = pl.read_parquet(folder / f"strand-{number}-series.parquet")
            more, analysed = _connections(strand, found, table, captures)
            flows += more
            analyses.update(analysed)
            series.append(_series(strand, found, table))
    return {"flows": flows, "hops": hops, "analyses": analyses}, pl.concat(series) if series else _series_of_nothing()


def _datagrams(
    strand: Strand, found: StrandResult, delays: pl.DataFrame, window: Sequence[float]
) -> tuple[LiveFlow, int]:
    """A stream's figures over the datagrams sent within the window.

    Both ends are processes of one machine, so they share a clock, as with GPS.
    """
    import polars as pl

    direction = strand["direction"]
    train = found["spec"]["datagrams"][direction]
    assert train is not None
    low, high = window
    seen = delays.filter((pl.col("direction") == direction) & (pl.col("sent_s") >= low) & (pl.col("sent_s") < high))
    came = seen["difference_ms"].drop_nulls().to_list()
    within = delays.filter((pl.col("direction") == direction) & pl.col("difference_ms").is_not_null())
    arrived = within.filter((pl.col("sent_s") + pl.col("difference_ms") / 1e3).is_between(low, high)).height
    bits = 8 * (train["payload"] + HEADERS)
    lost = seen.height - len(came)
    return {
        "flow": strand["names"][0],
        "variant": "udp",
        "direction": direction,
        "throughput_bps": arrived * bits / (high - low),
        "goodput_bps": arrived * 8 * train["payload"] / (high - low),
        "one_way_delay_ms": summary_stats(came),
        "offset_interval_ms": found["clock"]["offset_interval_ms"] if found["clock"] else None,
        "segments_sent": seen.height,
        "held_up_ms": held_up_ms(found, direction),
    }, lost  # fmt: skip


def held_up_ms(found: TestResult, direction: str) -> float:
    """The excess of the longest gap between two datagrams over the requested gap, at the sender's
    process.
    """
    figures = next(each for each in found["directions"] if each["direction"] == direction)
    gaps = figures["sent_gap_us"]
    return max(0.0, ((gaps["max"] or 0.0) - figures["asked_gap_us"]) / 1e3) if gaps else 0.0


def _connections(
    strand: Strand, found: StrandResult, series: pl.DataFrame, captures: Sequence[Path]
) -> tuple[list[LiveFlow], dict[str, DirectionReport]]:
    import polars as pl

    down = strand["direction"] == "down"
    senders, receivers = (
        (found["far_flows"], found["near_flows"]) if down else (found["near_flows"], found["far_flows"])
    )
    flows: list[LiveFlow] = []
    analyses: dict[str, DirectionReport] = {}
    for name, sender, receiver in zip(strand["names"], senders, receivers, strict=True):
        own = series.filter((pl.col("flow").str.split("-").list.last() == str(sender["flow"])) & pl.col("sends"))
        seconds = receiver["elapsed_ns"] * 1e-9
        flow: LiveFlow = {
            "flow": name,
            "variant": strand["variant"],
            "congestion": sender["congestion"],
            "given": {"send_buffer": sender["send_buffer"], "receive_buffer": receiver["receive_buffer"]},
            "direction": strand["direction"],
            "goodput_bps": receiver["bytes"] * 8 / seconds if seconds > 0 else 0.0,
            "segments_sent": sender["segments_sent"],
            "retransmitted_segments": sender["retransmitted"],
            "retransmission_rate": sender["retransmitted"] / max(1, sender["segments_sent"]),
            "window_cuts": _cuts(own["ssthresh_bytes"].to_list()),
            "rtt_ms": summary_stats(own["srtt_ms"].drop_nulls().to_list()),
            "timeouts": None,
            "fast_retransmits": None,
            "failed": sender["why_failed"] or receiver["why_failed"],
        }
        if len(strand["names"]) <= MAX_CAPTURED_FLOWS and captures:
            # The sender's capture has the RTT of each acknowledgement, the kernel a smoothed one.
            analyses[name] = half = _captured(captures, down=down)
            flow |= {"rtt_ms": half["rtt_ms"], "timeouts": half["rto_retransmits"]}
            flow["fast_retransmits"] = half["fast_retransmits"]
        flows.append(flow)
    return flows, analyses


def _cuts(thresholds: Sequence[float | None]) -> int:
    """The number of changes of the slow-start threshold: one for each reduction, if the samples are
    frequent enough.
    """
    text = [value for value in thresholds if value is not None]
    return sum(1 for before, after in zip([None, *text], text, strict=False) if before != after)


def _captured(captures: Sequence[Path], *, down: bool) -> DirectionReport:
    """The analysis of the data's direction, from the sender's and the receiver's capture."""
    from ackclock.analysis import analyze

    first, second = captures if down else reversed(captures)
    flows = analyze(first, second).document["flows"]
    halves = [flow["b2a"] if down else flow["a2b"] for flow in flows]
    return max(halves, key=lambda half: half["unique_bytes"])


def _series(strand: Strand, found: StrandResult, table: pl.DataFrame) -> pl.DataFrame:
    """The senders' samples, times from the run's beginning, under the flows' names."""
    import polars as pl

    senders = found["far_flows" if strand["direction"] == "down" else "near_flows"]
    names = {str(sender["flow"]): name for sender, name in zip(senders, strand["names"], strict=True)}
    number = pl.col("flow").str.split("-").list.last()
    return (
        table.filter(pl.col("sends"))
        .with_columns(
            number.replace_strict(names, default=None, return_dtype=pl.String).alias("flow"),
            (pl.col("time_s") + strand["start_s"]).alias("time_s"),
        )
        .select(list(_series_of_nothing().columns))
        .sort("flow", "time_s")
    )


def _series_of_nothing() -> pl.DataFrame:
    import polars as pl

    real, count = pl.Float64, pl.UInt64
    reals = dict.fromkeys(("time_s", "cwnd_bytes", "ssthresh_bytes", "srtt_ms"), real)
    counts = dict.fromkeys(("flight_bytes", "delivered_bytes", "retransmitted_segments"), count)
    return pl.DataFrame(schema={"flow": pl.String, **reals, **counts})
