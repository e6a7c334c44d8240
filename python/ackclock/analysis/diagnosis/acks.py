"""Findings about ACKs: queueing, compression, thinning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, share
from ackclock.format import milliseconds, rate

_MOSTLY = 0.5
_ENOUGH = 50
_QUEUE_MS = 50.0
_STANDS = 0.1
_MOSTLY_QUEUED = 0.55
_DATA_BPS = 10e3
"""Data below this rate, in bit/s, is a control connection."""
_BUNCHED_MS = 2.5
"""ACKs are bunched if the mean gap is at least this and most gaps are below 1 ms; at smaller mean
gaps 1 ms is no criterion.
"""
_SQUEEZED = 0.3
_QUEUED_SHARE = 0.3
_SEVERAL = 5
_GAP_MS = 90
"""In a bunched ACK stream, gaps above this are transmissions in the other direction on the link
(`wimax-measured`).
"""


def findings(context: FlowContext) -> Iterator[Finding]:
    """Compressed and thinned ACKs."""
    for rule in (_queued, _compressed, _thinned):
        if (found := rule(context)) is not None:
            yield found


def _queued(context: FlowContext) -> Finding | None:
    """ACKs that sometimes wait although the data's queue is the larger one; if the ACKs' queue is
    larger, `ack_path` has the share of time.
    """
    there, back = excess(context.crossing, "p95"), excess(context.back, "p95")
    if there is None or back is None or not wait_at_times(context):
        return None
    evidence = (
        f"ACKs also wait at times: {milliseconds(back)} above the minimum delay of their direction "
        f"(p95; the data's direction {milliseconds(there)})."
    )
    return Finding(context.direction, "ack_queue", evidence, advice=relief(context))


def wait_at_times(context: FlowContext) -> bool:
    """Whether ACKs sometimes wait longer than data, but not in most of the time with a queue."""
    there, back = excess(context.crossing, "p95"), excess(context.back, "p95")
    return there is not None and back is not None and not ack_queue_dominates(context) and back >= max(_QUEUE_MS, there)


def excess(crossing: Mapping[str, Any], figure: str) -> float | None:
    """The p50 or p95 delay of a direction above its minimum, in ms, which does not depend on the
    clocks' offset.
    """
    delay = crossing.get("one_way_delay_ms") or {}
    return None if delay.get(figure) is None else float(delay[figure] - delay["min"])


def ack_queue_dominates(context: FlowContext) -> bool:
    """Whether the queue in the time limited by the path's rate is that of the ACKs.

    A few large delays are no standing queue.
    """
    there, back = excess(context.crossing, typical(context)), excess(context.back, typical(context))
    return (
        there is not None
        and back is not None
        and back > max(there, _STANDS * (context.figures["rtt_ms"]["min"] or 0.0))
    )


def typical(context: FlowContext) -> str:
    """The quantile for the median of the time with a queue: 1 - h/2 of a share h, rounded to p50 or
    p95.
    """
    return "p50" if context.limited_share("path_rate") > _MOSTLY_QUEUED else "p95"


def relief(context: FlowContext) -> str:
    """The advice about waiting ACKs, which depends on data in their direction."""
    first = (
        "ACKs first, or per-flow queues, in the direction of the ACKs (or a smaller buffer there) restore the ACK clock"
    )
    if context.other["unique_bytes"] > 0.1 * context.figures["unique_bytes"] or context.shared_bps > _DATA_BPS:
        return f"Data shares the direction of the ACKs. {first}."
    return (
        "This capture has no data in the direction of the ACKs, so ACKs alone fill the link, or "
        "data of other hosts does: fewer ACKs (a filter at that link, as in CAKE; GRO at the "
        f"receiver), a faster uplink, or a smaller buffer help in the first case. {first} in the "
        "second."
    )


def _compressed(context: FlowContext) -> Finding | None:
    gaps = context.figures["ack_interarrival_ms"]
    if gaps["count"] < _ENOUGH or not context.pace_seen:
        return None  # at the receiver, gaps are those between departures
    compressed, close = gaps["compressed_share"] or 0.0, _close(gaps)
    # Bunched data has bunched ACKs. With a standing queue the bottleneck has spaced the data
    # before.
    bunched = close >= _MOSTLY and gaps["mean"] >= _BUNCHED_MS and context.limited_share("path_rate") >= _QUEUED_SHARE
    left_so = context.arriving is not None and _close(context.arriving["ack_interarrival_ms"]) > 0.75 * close
    if left_so or not (bunched or compressed >= _SQUEEZED):
        return None
    sentence = (
        f"{share(close)} of the ACKs arrive within 1 ms of the previous one, {share(compressed)} "
        "with less than a quarter of the gap of the data that they acknowledge"
    )
    long = sum(b["count"] for b in gaps["histogram"] if b["up_to"] is None or b["up_to"] > _GAP_MS)
    if long:
        sentence += f", with {long} gaps above {_GAP_MS} ms (the longest {milliseconds(gaps['max'])})"
    own = (
        float(context.other["goodput_bps"] or 0.0)
        if context.other["unique_bytes"] > 0.1 * context.figures["unique_bytes"]
        else 0.0
    )
    advice = (
        "Prioritise ACKs on the uplink (or use per-flow queues there), or shorten its queue: data "
        "waits, and ACKs use little capacity."
    )
    if own or context.shared_bps > _DATA_BPS:
        why = f": the uplink is shared with {rate(own + context.shared_bps)} of data"
    elif long >= _SEVERAL:
        why = ": the uplink is shared with data that this capture does not have, or transmits in frames or grants"
    else:
        why = ": the link transmits in frames or grants, or a host or network card joined packets before the capture"
        advice = "Bunched ACKs release bursts of data: pacing at the sender prevents that."
    return Finding(context.direction, "ack_compression", sentence + why + ".", advice=advice)


def _close(gaps: Mapping[str, Any]) -> float:
    """Share of gaps of 1 ms or less."""
    return float(
        sum(b["count"] for b in gaps["histogram"] if b["up_to"] is not None and b["up_to"] <= 1) / max(1, gaps["count"])
    )


def _thinned(context: FlowContext) -> Finding | None:
    gaps = context.figures["ack_interarrival_ms"]
    each = gaps["segments_per_ack"] or 0.0
    if gaps["count"] < _ENOUGH or each < 3.0:
        return None
    evidence = (
        f"One ACK for {each:.1f} segments on average, {share(gaps['stretched_share'] or 0.0)} of "
        "them for more than two: the receiver's host joins segments (GRO, LRO), or a filter on the "
        "path removes ACKs."
    )
    return Finding(context.direction, "stretch_acks", evidence)
