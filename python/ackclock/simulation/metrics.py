"""The metrics of a run, from its summary, and their intervals over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ackclock.simulation import apps
from ackclock.statistics import Interval, interval, jain_index, joint_rate, known, mean_of_known
from ackclock.statistics.joint_rate import RatedSpan

if TYPE_CHECKING:
    from ackclock.documents.parts import Metrics
    from ackclock.documents.simulate import ExplainedRun

LIMITS = ("receive_window", "send_buffer", "cwnd", "application", "recovery")
"""What limits a sender, by the engine's names."""

METRICS: Mapping[str, str] = {
    "goodput_bps": "b/s; payload that the TCP flows of a direction delivered in order, over the time in which at least "
    "one of them was active; the sum of both directions.",
    "opposite_goodput_bps": "b/s; goodput of the flows of `compare --opposite`.",
    "throughput_bps": "b/s; IP bytes that they delivered once, over the same time.",
    "rtt_min_ms": "ms; minimum RTT, mean over the flows.",
    "rtt_mean_ms": "ms; mean RTT, mean over the flows.",
    "rtt_p95_ms": "ms; 95th percentile of the RTT, mean over the flows.",
    "retransmission_rate": "share; retransmitted of the sent segments, over all flows.",
    "timeouts": "count; retransmission timeouts, over all flows.",
    "fast_retransmits": "count; entries into fast retransmit, over all flows.",
    "window_cuts": "count; reductions of cwnd, over all flows.",
    "idle_share": "share; of a flow's lifetime without data in flight, mean over the flows.",
    "limited_receive_window": "share; of the time limited by the receive window, mean over the flows.",
    "limited_send_buffer": "share; of the time limited by the send buffer, mean over the flows.",
    "limited_cwnd": "share; of the time limited by cwnd, mean over the flows.",
    "limited_application": "share; of the time limited by the application, mean over the flows.",
    "limited_recovery": "share; of the time in loss recovery, mean over the flows.",
    "utilization": "share; of the most used hop in the direction of the data.",
    "queue_delay_ms": "ms; mean queueing delay of data packets, summed over the hops.",
    "ack_queue_delay_ms": "ms; mean queueing delay in the direction of the ACKs, summed over the hops.",
    "drops": "count; packets dropped in the direction of the data.",
    "ack_drop_share": "share; packets lost in the direction of the ACKs.",
    "ack_filter_share": "share; packets that ACK filters removed, at the hop with the largest share.",
    "model_bps": "b/s; Padhye's rate for Reno with the same loss events and RTTs.",
    "jain": "share; Jain's index of the flows' goodputs.",
    **apps.METRICS,
}
"""Metric name to its unit and definition."""

Run = Mapping[str, float]
"""Metric name to value of one run; NaN without a value."""


def of_run(summary: ExplainedRun) -> dict[str, float]:
    """The metrics of one run, from its summary (``docs/inside/plan.md``).

    - ``goodput_bps``, ``throughput_bps``: of the TCP flows together (`together_bps`).
    - ``rtt_*_ms``, ``idle_share``, ``limited_*`` (shares of a flow's lifetime, 0..1): means over
      the flows.
    - ``timeouts``, ``fast_retransmits``, ``window_cuts``, ``retransmission_rate`` (of the sent
      segments): over all flows.
    - ``queue_delay_ms``: mean queueing delay of data packets, summed over the hops.
    - ``utilization``: of the most used hop in the direction of the data.
    - ``ack_drop_share``: share of packets lost in the direction of the ACKs; ``ack_filter_share``:
      the share removed by ACK filters.
    - ``model_bps``: Padhye's rate for Reno with the same loss events and RTTs; NaN if the model
      does not apply.
    - ``call_*``, ``page_*``, ``game_*``: of runs with such flows (`simulation.apps`).

    Of a split connection, goodput and RTT are those of the last part, retransmissions those of all
    parts.
    """
    parts = [flow for flow in summary["flows"] if flow["variant"] != "udp"]
    sent = sum(flow["segments_sent"] for flow in parts)
    flows = [flow for flow in parts if not flow.get("feeds")]
    metrics = {
        "goodput_bps": together_bps(flows),
        "throughput_bps": together_bps(flows, "throughput_bps"),
        "retransmission_rate": sum(f["retransmitted_segments"] for f in parts) / sent if sent else math.nan,
        "timeouts": math.nan if any("quic" in f for f in parts) else float(sum(f["timeouts"] for f in parts)),
        "fast_retransmits": float(sum(f["fast_retransmits"] for f in parts)),
        "window_cuts": float(sum(f["window_cuts"] for f in parts)),
        "idle_share": mean_of_known(f["idle_share"] for f in flows),
        "rtt_min_ms": mean_of_known(f["rtt_ms"]["min"] for f in flows),
        "rtt_mean_ms": mean_of_known(f["rtt_ms"]["mean"] for f in flows),
        "rtt_p95_ms": mean_of_known(f["rtt_ms"]["p95"] for f in flows),
        **{f"limited_{limit}": mean_of_known((f["limited_share"] or {}).get(limit) for f in flows) for limit in LIMITS},
        **_of_hops(summary["hops"], flows[0]["direction"] if flows else "down"),
        "model_bps": _model(flows),
        **apps.app_metrics(summary["flows"]),
        **apps.responsiveness_metrics(summary),
    }
    if len(flows) > 1:
        metrics["jain"] = jain_index(known(flow["goodput_bps"] for flow in flows))
    return metrics


def together_bps(flows: Iterable[Mapping[str, Any]], rate: str = "goodput_bps") -> float:
    """The `rate` of several flows of a summary together, in bits/s: for each direction what its
    flows delivered, over the time in which at least one of them was active (`joint_rate`); the sum
    of both directions.
    """
    by_direction: dict[str, list[RatedSpan]] = {}
    for flow in flows:
        # Older summaries have no `from_s`, but the start, which is the same without a measurement
        # window.
        start_s = flow["from_s"] if "from_s" in flow else flow["host_start_s"]
        span = (flow[rate], 0.0 if start_s is None else start_s, flow["end_s"])
        by_direction.setdefault(flow["direction"], []).append(span)
    return math.fsum(map(joint_rate, by_direction.values()))


def _model(flows: Sequence[Mapping[str, Any]]) -> float:
    """The sum of Padhye's rates over the flows; NaN if one flow has none."""
    rates = [(flow.get("model") or {}).get("padhye_bps") for flow in flows]
    return math.fsum(known(rates)) if rates and None not in rates else math.nan


def of_flows(summary: ExplainedRun, prefix: str) -> dict[str, float]:
    """:func:`of_run` without the flows whose names begin with `prefix`; their goodput is
    ``opposite_goodput_bps``.
    """
    opposite = [flow for flow in summary["flows"] if flow["flow"].startswith(prefix)]
    rest = [flow for flow in summary["flows"] if not flow["flow"].startswith(prefix)]
    metrics = of_run({**summary, "flows": rest})
    if opposite:
        metrics["opposite_goodput_bps"] = together_bps(flow for flow in opposite if not flow.get("feeds"))
    return metrics


def _of_hops(hops: Sequence[Mapping[str, Any]], direction: str) -> dict[str, float]:
    data = [hop for hop in hops if hop["direction"] == direction]
    back = [hop for hop in hops if hop["direction"] != direction]
    return {
        "utilization": max(known(hop["utilization"] for hop in data), default=math.nan),
        "queue_delay_ms": math.fsum(known(hop["queue_delay_ms"]["mean"] for hop in data)),
        "ack_queue_delay_ms": math.fsum(known(hop["queue_delay_ms"]["mean"] for hop in back)),
        "drops": float(sum(hop["drops"] for hop in data)),
        "ack_drop_share": _lost_share(back),
        "ack_filter_share": _filtered_share(back),
    }


def _filtered_share(hops: Iterable[Mapping[str, Any]]) -> float:
    """The share of offered packets that ACK filters removed, at the hop with the largest share."""
    shares = [
        hop.get("drops_by_cause", {}).get("ack_filter", 0) / offered
        for hop in hops
        if (offered := hop["drops"] + hop["delivered"])
    ]
    return max(shares, default=0.0)


def _lost_share(hops: Iterable[Mapping[str, Any]]) -> float:
    passed = 1.0
    for hop in hops:
        offered = hop["drops"] + hop["delivered"]
        passed *= hop["delivered"] / offered if offered else 1.0
    return 1.0 - passed


def over_seeds(runs: Iterable[Run]) -> dict[str, Interval]:
    """Mean and 95 % interval of every metric over runs that differ in their seed only. No metric is
    negative: intervals are on the logarithm.

    Metrics without values are left out.
    """
    rows = list(runs)
    names = dict.fromkeys(name for row in rows for name in row)
    intervals = {
        name: interval((row.get(name) for row in rows), scale="log", maximum=1.0 if is_share(name) else math.inf)
        for name in names
    }
    return {name: value for name, value in intervals.items() if value.n}


def is_share(name: str) -> bool:
    """Whether a metric is a share, at most 1."""
    return name.endswith(("_share", "_rate", "jain")) or name.startswith("limited_") or name == "utilization"


def metrics_json(summaries: Iterable[ExplainedRun]) -> Metrics:
    """Mean, lo, hi and sd of every metric over runs that differ in their seed only; rates in
    bits/s, times in ms.

    UDP flows count only in runs without TCP flows.
    """
    return metrics_of(of_run_with_jain(summary) for summary in summaries)


def metrics_of(runs: Iterable[Run]) -> Metrics:
    """Mean, lo, hi and sd of every metric over runs that differ in their seed only, as JSON."""
    return {name: intervals.as_json() for name, intervals in over_seeds(runs).items()}


def of_run_with_jain(summary: ExplainedRun) -> dict[str, float]:
    """:func:`of_run` without UDP flows, if there are TCP flows, and with the engine's index of
    fairness as `jain`.
    """
    jain = summary["jain"]
    metrics = of_run(_without_background(summary))
    return {**metrics, **apps.app_metrics(summary["flows"]), "jain": math.nan if jain is None else jain}


def _without_background(summary: ExplainedRun) -> ExplainedRun:
    tcp = [flow for flow in summary["flows"] if flow["variant"] != "udp"]
    return {**summary, "flows": tcp or summary["flows"]}
