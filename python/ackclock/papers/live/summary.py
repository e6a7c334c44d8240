"""A live run's results in the fields of `simulate`'s summary that the evaluators read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.statistics.summary_stats import EMPTY_SUMMARY, summary_stats

if TYPE_CHECKING:
    import polars as pl

    from ackclock.documents.engine import DirectionReport

HEADERS = 28
MAX_CAPTURED_FLOWS = 1
"""The connection of a strand with one connection: the one with the most data in the capture."""


def of_walk(walk: Mapping[str, Any], probes: pl.DataFrame) -> dict[str, Any]:
    """The flow of a walk: round trips of the probes that reached the other end, by size."""
    import polars as pl

    sent = probes.filter(pl.col("hop") == probes["hop"].max())
    rows = []
    for size in walk["sizes"]:
        of = sent.filter(pl.col("ip_bytes") == size)
        rtts = of["rtt_ms"].drop_nulls().to_list()
        stats = summary_stats(rtts) or dict(EMPTY_SUMMARY)
        rows.append({"ip_bytes": size, "sent": of.height, "lost": of.height - len(rtts), "rtt_ms": stats})
    return {"flow": walk["name"], "variant": "udp", "probes": rows}


def of_strands(job: Mapping[str, Any], folder: Path, captures: Sequence[Path]) -> tuple[dict[str, Any], pl.DataFrame]:
    """The summary of a run of streams and transfers, and its series."""
    import polars as pl

    flows: list[dict[str, Any]] = []
    hops: list[dict[str, Any]] = []
    analyses: dict[str, Any] = {}
    series = []
    for number, strand in enumerate(job["strands"]):
        found = json.loads((folder / f"strand-{number}.json").read_text("utf-8"))
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
    strand: Mapping[str, Any], found: Mapping[str, Any], delays: pl.DataFrame, window: Sequence[float]
) -> tuple[dict[str, Any], int]:
    """A stream's figures over the datagrams sent within the window.

    Both ends are processes of one machine, so they share a clock, as with GPS.
    """
    import polars as pl

    direction = strand["direction"]
    train = found["spec"]["datagrams"][direction]
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


def held_up_ms(found: Mapping[str, Any], direction: str) -> float:
    """The excess of the longest gap between two datagrams over the requested gap, at the sender's
    process.
    """
    figures = next(each for each in found["ways"] if each["direction"] == direction)
    gaps = figures["sent_gap_us"]
    return max(0.0, (gaps["max"] - figures["asked_gap_us"]) / 1e3) if gaps else 0.0


def _connections(
    strand: Mapping[str, Any], found: Mapping[str, Any], series: pl.DataFrame, captures: Sequence[Path]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    import polars as pl

    down = strand["direction"] == "down"
    senders, receivers = (
        (found["far_flows"], found["near_flows"]) if down else (found["near_flows"], found["far_flows"])
    )
    flows, analyses = [], {}
    for name, sender, receiver in zip(strand["names"], senders, receivers, strict=True):
        own = series.filter((pl.col("flow").str.split("-").list.last() == str(sender["flow"])) & pl.col("sends"))
        seconds = receiver["elapsed_ns"] * 1e-9
        flow = {
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
            analyses[name] = _captured(captures, down=down)
            flow.update(_from_capture(analyses[name]))
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


def _from_capture(half: DirectionReport) -> dict[str, Any]:
    """The sender's capture has the RTT of each acknowledgement, the kernel a smoothed one."""
    return {
        "rtt_ms": dict(half["rtt_ms"]),
        "timeouts": half["rto_retransmits"],
        "fast_retransmits": half["fast_retransmits"],
    }


def _series(strand: Mapping[str, Any], found: Mapping[str, Any], table: pl.DataFrame) -> pl.DataFrame:
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
