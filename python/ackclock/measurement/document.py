"""The document of ``measure --json`` (docs/reference/measure.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

import numpy as np

from ackclock.documents.parts import DIRECTIONS, Direction
from ackclock.measurement.budget import ip_bytes, used_bytes
from ackclock.measurement.capacity import capacity
from ackclock.measurement.consistency import StreamSender, consistent, tcp_transfers
from ackclock.measurement.queue_facts import QueueFacts, Train, train_of, train_of_test
from ackclock.measurement.queue_inference import infer
from ackclock.measurement.test_runner import TestLog
from ackclock.statistics import joint_rate
from ackclock.statistics.fairness import jain_index
from ackclock.statistics.summary_stats import summary_stats

if TYPE_CHECKING:
    import polars as pl

    from ackclock._native import Table
    from ackclock.documents import engine, measure


def flow_name(test: int, connection: int) -> str:
    """A connection's name in all tables."""
    return f"t{test}-{connection}"


def series_frame(table: Table) -> pl.DataFrame:
    """One row for each sample of a connection at either end, first with the columns of every
    ``series.parquet``.
    """
    import polars as pl

    raw = pl.DataFrame(table)
    name = pl.concat_str(pl.lit("t"), pl.col("test").cast(pl.String), pl.lit("-"), pl.col("flow").cast(pl.String))
    return raw.select(
        pl.lit(0, dtype=pl.UInt64).alias("seed"),
        name.alias("flow"),
        "time_s",
        pl.col("cwnd_bytes").cast(pl.Float64),
        pl.col("ssthresh_bytes").cast(pl.Float64),
        (pl.col("srtt_us") / 1e3).alias("srtt_ms"),
        pl.col("flight_bytes").cast(pl.UInt64),
        pl.col("delivered_bytes").cast(pl.UInt64),
        pl.col("retransmitted_segments").cast(pl.UInt64),
        "test",
        pl.when("far").then(pl.lit("server")).otherwise(pl.lit("client")).alias("end"),
        (pl.col("sends") == 1).alias("sends"),
        "bytes",
        (pl.col("rttvar_us") / 1e3).alias("rttvar_ms"),
        (pl.col("min_rtt_us") / 1e3).alias("min_rtt_ms"),
        "delivery_rate_bps",
        "pacing_rate_bps",
        "not_sent_bytes",
        (pl.col("busy_us") / 1e6).alias("busy_s"),
        (pl.col("rwnd_limited_us") / 1e6).alias("receive_window_limited_s"),
        (pl.col("sndbuf_limited_us") / 1e6).alias("send_buffer_limited_s"),
    )


def document(
    session: engine.SessionResults,
    log: TestLog,
    series: pl.DataFrame,
    delays: pl.DataFrame,
    names: Sequence[str],
    control_bytes: int = 0,
) -> measure.MeasuredSession:
    """The figures of a session by test.

    ``session`` is the engine's document, ``series`` and ``delays`` are its tables, ``names`` the
    plan's tests, ``control_bytes`` the IP bytes of the control connection.
    """
    tests = session["tests"]
    purposes = log.purposes
    flows = [flow for n in sorted(purposes) for flow in _flows(tests[n], purposes[n], series)]
    capacities: dict[Direction, measure.Capacity] = {}
    for direction, found in log.filled.items():
        facts, stats = queue_facts(session, log, series, delays, direction), _direction(tests[found.number], direction)
        assert facts.stream is not None
        sender = StreamSender.of(stats, facts.stream)
        statements = consistent(infer(facts), sender, tcp_transfers(flows, direction), filled=found.filled)
        capacities[direction] = capacity(stats, statements)
    concurrent = _concurrent(flows)
    return {
        "clock": session["clock"],
        "path": None if log.path is None else [hop.as_json() for hop in log.path],
        "delay": next((_directions(tests[n]) for n in _of(purposes, "delay")), None),
        "capacity": capacities,
        "steps": [
            {
                **_direction(tests[n], purposes[n]["way"]),
                "share": purposes[n]["share"],
                "asked_bps": purposes[n]["asked_bps"],
            }
            for n in _of(purposes, "steps")
        ],
        "flows": flows,
        "bidirectional": [
            beside(tests[n], purposes[n], series)
            for n in _of(purposes, "bidirectional")
            # The phases of a pair that its bytes ended are not known.
            if _is_first(tests[n], purposes[n]) and not any(test["cut_short"] for test in tests[n : n + 2])
        ],
        "concurrent": concurrent,
        "shaping": shaping(capacities, concurrent),
        "transfers": [_transfers(tests[n], purposes[n]) for n in _of(purposes, "transfers")],
        "latency_under_load": {
            purposes[ns[0]]["way"]: _latency([tests[n] for n in ns], purposes[ns[0]], series)
            for ns in _together(purposes)
        },
        "tests": [{"test": n, "shown": n in _shown(log), **purposes[n]} for n in sorted(purposes)],
        "announced": log.announced,
        "bytes": _bytes(tests, log, control_bytes),
        "ip_bytes": sum(ip_bytes(test) for test in tests),
        "unsent_datagrams": sum(test["unsent"] for test in tests),
        "held_datagrams": sum(test["held"] for test in tests),
        "cut_short": [test["cut_short"] for test in tests if test["cut_short"]],
        "unfinished": [name for name in names if name not in log.finished],
        "failed": log.failed,
    }


def _is_first(test: engine.TestResult, purpose: measure.Purpose) -> bool:
    """Whether a test is the longer transfer of a pair with an offset."""
    return "offset_s" in purpose and bool(test["spec"]["bulk"][purpose["first"]])


def beside(test: engine.TestResult, purpose: measure.Purpose, series: pl.DataFrame) -> measure.Beside:
    """A transfer before, during and after one of the opposite direction.

    ``test`` is the longer transfer; the other one is the next test. A phase's goodput is by the
    bytes that the receiver has read at its ends, interpolated between samples; its RTT is the
    median of the sender's SRTT. Start and end are by the plan.
    """
    offset, start = purpose["offset_s"], test["began_s"]
    end = start + test["spec"]["bulk"]["duration_ns"] * 1e-9

    def phase(at: float, to: float, *, of_both: bool = False) -> measure.Phase:
        return {
            "seconds": to - at,
            "first": _rates(series, test["test"], at, to),
            "second": _rates(series, test["test"] + 1, at, to) if of_both else None,
        }

    return {
        "test": test["test"],
        "label": purpose["label"],
        "first": purpose["first"],
        "offset_s": offset,
        "before": phase(start, start + offset),
        "during": phase(start + offset, end - offset, of_both=True),
        "after": phase(end - offset, end),
    }


def _rates(series: pl.DataFrame, test: int, start: float, end: float) -> measure.PhaseRates:
    """Goodput and median RTT of a test's connection from ``start`` to ``end`` (seconds)."""
    import polars as pl

    own = series.filter(pl.col("test") == test)
    read = own.filter(~pl.col("sends")).drop_nulls("bytes").sort("time_s")
    at, to = (float(np.interp(t, read["time_s"], read["bytes"])) for t in (start, end)) if read.height else (0.0, 0.0)
    within = own.filter(pl.col("sends") & pl.col("time_s").is_between(start, end))
    rtt = within["srtt_ms"].drop_nulls()
    return {
        "goodput_bps": (to - at) * 8 / (end - start) if read.height else None,
        "rtt_p50_ms": float(np.median(rtt)) if rtt.len() else None,
    }


def _bytes(tests: Sequence[engine.TestResult], log: TestLog, control_bytes: int) -> measure.ByteUse | None:
    """What the measurement took of the bytes that it may take."""
    budget = log.budget
    if budget is None:
        return None
    return {
        "max": budget.max_bytes,
        "used": used_bytes(tests, control_bytes, log.probe_bytes),
        "control": control_bytes,
        "left_out": budget.left_out,
        "shortened": budget.shortened,
    }


def _shown(log: TestLog) -> set[int]:
    """Tests with datagrams in the report: without the trials of the search for the capacity."""
    return {found.number for found in log.filled.values()} | {
        n for n, p in log.purposes.items() if p["kind"] != "capacity"
    }


def _of(purposes: Mapping[int, measure.Purpose], kind: str) -> Iterator[int]:
    return (number for number in sorted(purposes) if purposes[number]["kind"] == kind)


def _together(purposes: Mapping[int, measure.Purpose]) -> list[list[int]]:
    """The tests of latency under load, in groups of concurrent ones: one for each direction."""
    numbers = list(_of(purposes, "latency"))
    directions = dict.fromkeys(purposes[n]["way"] for n in numbers)
    return [[n for n in numbers if purposes[n]["way"] == direction] for direction in directions]


NO_BOTTLENECK: engine.Bottleneck = {
    "rate_bps": None,
    "min_based_bytes": None,
    "max_based_bytes": None,
    "filled": False,
    "losses_are": "unclear",
}
"""Datagrams that do not fill a path show nothing of its bottleneck: their rate is their
sender's.
"""


def _directions(test: engine.TestResult) -> dict[Direction, engine.DirectionStats]:
    return {figures["direction"]: {**figures, "bottleneck": NO_BOTTLENECK} for figures in test["directions"]}


def _direction(test: engine.TestResult, direction: Direction) -> engine.DirectionStats:
    return _directions(test)[direction]


def queue_facts(
    session: engine.SessionResults, log: TestLog, series: pl.DataFrame, delays: pl.DataFrame, direction: Direction
) -> QueueFacts:
    """What the tests recorded about the queue of one direction."""
    import polars as pl

    tests, purposes = session["tests"], log.purposes

    def train(number: int) -> Train | None:
        return train_of_test(delays, number, direction, tests[number])

    found = log.filled.get(direction)
    below = [train(n) for n in (found.below if found else ())]
    below += [train(n) for n in _of(purposes, "steps") if purposes[n]["way"] == direction and _is_below(purposes[n])]
    idle_number = next(_of(purposes, "delay"), None)
    beside = tests[found.number + 1] if found and _is_beside(purposes, found.number + 1) else None
    together = next((ns for ns in _together(purposes) if purposes[ns[0]]["way"] == direction), None)
    loading: list[engine.FlowOutcome] = []
    tcp_rtt_ms: list[float] = []
    if together is not None:
        load = tests[together[0]]
        loading = [flow for end in ("near_flows", "far_flows") for flow in load[end] if flow["sends"]]
        loaded = series.filter((pl.col("test") == load["test"]) & pl.col("sends"))
        tcp_rtt_ms = loaded["srtt_ms"].drop_nulls().to_list()
    return QueueFacts(
        idle=None if idle_number is None else train(idle_number),
        stream=train(found.number) if found else None,
        below=[one for one in below if one is not None],
        beside_stream_ms=[1e3 * t[0] for t in beside["transfers_s"] if t[0] is not None] if beside else [],
        idle_rtt_ms=None if idle_number is None else _idle_rtt_ms(delays, idle_number),
        beside_tcp=None if together is None else train(together[1]),
        tcp_rtt_ms=tcp_rtt_ms,
        tcp_retransmitted=sum(flow["retransmitted"] or 0 for flow in loading),
        tcp_segments=sum(flow["segments_sent"] or 0 for flow in loading),
    )


def _is_beside(purposes: Mapping[int, measure.Purpose], number: int) -> bool:
    return number in purposes and purposes[number]["kind"] == "beside"


BELOW = 0.95
"""A step at up to this share of the capacity grows no queue."""


def _is_below(purpose: measure.Purpose) -> bool:
    share = purpose.get("share")
    return share is not None and share <= BELOW


def _idle_rtt_ms(delays: pl.DataFrame, number: int) -> float | None:
    """Sum of the median one-way delays: the offset of the clocks cancels out."""
    trains = [train_of(delays, number, direction, 0) for direction in DIRECTIONS]
    if any(one is None or one.lost.all() for one in trains):
        return None
    return sum(float(np.median(one.delay_ms[~one.lost])) for one in trains if one is not None)


def _flows(test: engine.TestResult, purpose: measure.Purpose, series: pl.DataFrame) -> Iterator[measure.Flow]:
    """The rows of a bulk test: each connection with its sender's and its receiver's figures."""
    bulk = test["spec"].get("bulk")
    far = {flow["flow"]: flow for flow in test["far_flows"]}
    if bulk is None:
        return
    for near in test["near_flows"]:
        other = far.get(near["flow"])
        sender, receiver = (near, other) if near["sends"] else (other, near)
        yield {
            "flow": flow_name(test["test"], near["flow"]),
            "test": test["test"],
            "label": purpose["label"],
            "purpose": purpose["kind"],
            "direction": "up" if near["sends"] else "down",
            **_sent(sender, receiver, _seconds(test, bulk, receiver)),
            "rtt_ms": _rtt_stats(series, flow_name(test["test"], near["flow"])),
            "asked": purpose["asked"],
            "given": {"sender": _given(sender), "receiver": _given(receiver)},
            "failed": next((end["why_failed"] for end in (near, other) if end and end["why_failed"]), None),
        }


def _seconds(test: engine.TestResult, bulk: engine.Bulk, receiver: engine.FlowOutcome | None) -> float:
    """The duration of a transfer: of one that its bytes ended, until its last byte."""
    if test["cut_short"] and receiver and receiver["elapsed_ns"] > 0:
        return receiver["elapsed_ns"] * 1e-9
    return bulk["duration_ns"] * 1e-9


def _sent(
    sender: engine.FlowOutcome | None, receiver: engine.FlowOutcome | None, seconds: float
) -> measure.FlowFigures:
    sent = sender["segments_sent"] if sender else None
    retransmitted = sender["retransmitted"] if sender else None
    received_bytes = receiver["bytes"] if receiver else None
    return {
        "variant": sender["congestion"] if sender else None,
        "goodput_bps": None if received_bytes is None else received_bytes * 8 / seconds,
        "received_bytes": received_bytes,
        "duration_s": seconds,
        "segments_sent": sent,
        "retransmitted_segments": retransmitted,
        "retransmission_rate": retransmitted / sent if sent and retransmitted is not None else None,
    }


def _given(end: engine.FlowOutcome | None) -> measure.SocketValues | None:
    """The kernel's values. It doubles a requested buffer for its own bookkeeping."""
    return (
        None
        if end is None
        else {
            "congestion": end["congestion"],
            "send_buffer": end["send_buffer"],
            "receive_buffer": end["receive_buffer"],
            "mss": end["mss"],
        }
    )


def _rtt_stats(series: pl.DataFrame, flow: str) -> engine.SummaryStats | None:
    """Summary of the sender's smoothed RTT."""
    import polars as pl

    rtt = series.filter((pl.col("flow") == flow) & pl.col("sends"))["srtt_ms"].drop_nulls()
    return summary_stats(rtt.to_list())


def _transfers(test: engine.TestResult, purpose: measure.Purpose) -> measure.TransferTimes:
    times = test["transfers_s"]
    good = [t for t, flow in zip(times, test["near_flows"], strict=True) if flow["why_failed"] is None]
    return {
        "test": test["test"],
        "direction": purpose["way"],
        "size": purpose["size"],
        "bytes": test["spec"]["transfers"]["bytes"],
        "completed": len(good),
        "failed": len(times) - len(good),
        "handshake_ms": summary_stats([1e3 * t[0] for t in good if t[0] is not None]),
        "completion_ms": summary_stats([1e3 * t[2] for t in good if t[2] is not None]),
    }


def _responsiveness(
    handshakes: list[float], exchanges: list[float], on_load: list[float]
) -> measure.ResponsivenessInterval | None:
    """RTTs per minute with a 95 % interval: Student's t over consecutive batches of the probes."""
    from ackclock import _native
    from ackclock.statistics.intervals import t_quantile

    def rpm(*samples: list[float]) -> engine.Responsiveness | None:
        return _native.responsiveness(*samples)

    found = rpm(handshakes, exchanges, on_load)
    if found is None:
        return None
    lo = hi = None
    if len(handshakes) >= MIN_PROBES and len(on_load) >= BATCHES:
        batches = [rpm(*(_batch(one, n) for one in (handshakes, exchanges, on_load))) for n in range(BATCHES)]
        values = np.array([one["rpm"] for one in batches if one is not None])
        half = t_quantile(0.975, len(values) - 1) * float(values.std(ddof=1)) / len(values) ** 0.5
        lo, hi = max(0.0, found["rpm"] - half), found["rpm"] + half
    return {**found, "lo": lo, "hi": hi}


BATCHES = 5
MIN_PROBES = 4 * BATCHES
"""Fewer probes give no interval."""


def _batch(values: list[float], number: int) -> list[float]:
    return values[number * len(values) // BATCHES : (number + 1) * len(values) // BATCHES]


def _concurrent(flows: list[measure.Flow]) -> list[measure.Concurrent]:
    """Jain's index of the goodputs of concurrent connections of one direction."""
    groups: dict[tuple[int, Direction], list[measure.Flow]] = {}
    for flow in flows:
        groups.setdefault((flow["test"], flow["direction"]), []).append(flow)
    rows: list[measure.Concurrent] = []
    for (test, direction), group in groups.items():
        goodputs = [goodput for flow in group if (goodput := flow["goodput_bps"]) is not None]
        if len(group) < 2 or len(goodputs) < len(group):
            continue
        index = jain_index(goodputs)
        rows.append(
            {
                "test": test,
                "label": group[0]["label"],
                "direction": direction,
                "flows": len(group),
                "goodput_bps": joint_rate(
                    (goodput, 0.0, flow["duration_s"]) for goodput, flow in zip(goodputs, group, strict=True)
                ),
                "jain": None if math.isnan(index) else index,
            }
        )
    return rows


TCP_SHAPED, NOT_SHAPED = 0.7, 0.85
"""Shares of the UDP rate: several connections together below the first are shaped, and above the
second are not."""


def shaping(
    capacity: Mapping[Direction, measure.Capacity], concurrent: Sequence[measure.Concurrent]
) -> dict[Direction, measure.Shaping]:
    """By direction: whether TCP gets less than UDP does.

    It is decided by several concurrent connections, on a rate that does not wander, without losses
    of the channel and with a droptail queue that they could fill; else unknown.
    """
    found: dict[Direction, measure.Shaping] = {}
    for direction, figures in capacity.items():
        queue = figures["queue"]
        rate = queue["rate"]
        best = max((one["goodput_bps"] for one in concurrent if one["direction"] == direction), default=None)
        share = None if best is None or rate is None else best / rate["p50_bps"]
        verdict: Literal["TCP is shaped, UDP is not", "not shaped", "unknown"] = "unknown"
        if share is not None and rate is not None and share >= NOT_SHAPED:
            verdict = "not shaped"
        elif rate is not None and share is not None and share <= TCP_SHAPED and not _is_vague(rate, figures):
            lossless = queue["channel_loss"] is not None and queue["channel_loss"]["lost"] == 0
            verdict = "TCP is shaped, UDP is not" if lossless and queue["kind"] in SHAPING_KINDS else "unknown"
        found[direction] = {"verdict": verdict, "tcp_bps": best, "udp_bps": rate and rate["p50_bps"], "share": share}
    return found


def _is_vague(rate: measure.RateWindows, figures: measure.Capacity) -> bool:
    return rate["wanders"] or figures["at_least"]


SHAPING_KINDS = ("droptail", "per-flow")


def _latency(
    tests: list[engine.TestResult], purpose: measure.Purpose, series: pl.DataFrame
) -> measure.LatencyUnderLoad:
    """Round trips and delays beside bulk transfers, and round trips a minute."""
    import polars as pl

    load, probes, *exchanges = tests
    # In the order of their starts, as the intervals are of consecutive batches.
    rounds = zip_longest(*(one["transfers_s"] for one in exchanges))
    times = [t for together in rounds for t in together if t is not None]
    good = [(t[0], t[1]) for t in times if t[0] is not None and t[1] is not None and t[2] is not None]
    handshakes, asked = [1e3 * opened for opened, _ in good], [1e3 * (first - opened) for opened, first in good]
    on_load = series.filter((pl.col("test") == load["test"]) & pl.col("sends"))["srtt_ms"].drop_nulls().to_list()
    flows = [flow for end in ("near_flows", "far_flows") for flow in load[end] if not flow["sends"]]
    return {
        "load": {
            "flows": len(load["near_flows"]),
            "goodput_bps": sum(f["bytes"] for f in flows)
            * 8
            / max((_seconds(load, load["spec"]["bulk"], f) for f in flows), default=math.inf),
        },
        "direction": purpose["way"],
        "handshake_ms": summary_stats(handshakes),
        "exchange_ms": summary_stats(asked),
        "on_load_ms": summary_stats(on_load),
        "responsiveness": _responsiveness(handshakes, asked, on_load),
        "delay": _directions(probes),
    }
