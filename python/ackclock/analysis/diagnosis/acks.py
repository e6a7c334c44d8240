"""The way back: what happens to ACKs."""

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
"""Less than this is a control connection's talk."""
_BUNCHED_MS = 2.5
"""A mean gap from here on with most gaps below 1 ms: bunches. Where ACKs follow each other that closely anyway, 1 ms says nothing."""
_SQUEEZED = 0.3
_QUEUED_SHARE = 0.3
_SEVERAL = 5
_GAP_MS = 90
"""Gaps from here on, in an ACK stream that otherwise comes in bunches, are the other side's turn on the link (`wimax-measured`)."""


def findings(view: FlowContext) -> Iterator[Finding]:
    """Compressed and thinned ACKs."""
    for rule in (_queued, _compressed, _thinned):
        if (found := rule(view)) is not None:
            yield found


def _queued(view: FlowContext) -> Finding | None:
    """ACKs that wait at times while the data's own queue sets the pace; where they wait most, `ack_path` has the share of time."""
    there, back = excess(view.crossing, "p95"), excess(view.back, "p95")
    if there is None or back is None or not wait_at_times(view):
        return None
    evidence = f"ACKs wait as well, at times: {milliseconds(back)} above the least delay of their way (p95; the data's way {milliseconds(there)})."
    return Finding(view.direction, "ack_queue", evidence, advice=relief(view))


def wait_at_times(view: FlowContext) -> bool:
    """At times, and not in most of the time with a queue, ACKs wait longer than data does."""
    there, back = excess(view.crossing, "p95"), excess(view.back, "p95")
    return there is not None and back is not None and not acks_wait_most(view) and back >= max(_QUEUE_MS, there)


def excess(crossing: Mapping[str, Any], figure: str) -> float | None:
    """A way's p50 or p95 delay above its least, ms: right whatever the clocks' offset."""
    delay = crossing.get("one_way_delay_ms") or {}
    return None if delay.get(figure) is None else float(delay[figure] - delay["min"])


def acks_wait_most(view: FlowContext) -> bool:
    """The queue in the time that the path's rate has is the ACKs': a few great delays make no standing queue."""
    there, back = excess(view.crossing, typical(view)), excess(view.back, typical(view))
    return there is not None and back is not None and back > max(there, _STANDS * (view.figures["rtt_ms"]["min"] or 0.0))


def typical(view: FlowContext) -> str:
    """The delay in the middle of the time with a queue: of a share h its quantile is 1 - h/2, nearer to the median or to p95."""
    return "p50" if view.held("path_rate") > _MOSTLY_QUEUED else "p95"


def relief(view: FlowContext) -> str:
    """What helps ACKs that wait: another remedy with data beside them than alone."""
    first = "ACKs first, or per-flow queues, on the way back (or fewer bytes of buffer there) give the sender its clock back"
    if view.other["unique_bytes"] > 0.1 * view.figures["unique_bytes"] or view.shared_bps > _DATA_BPS:
        return f"Data shares the way back. {first}."
    return (
        "No data on the way back in this capture, so ACKs alone fill it, or data of others does: fewer ACKs (a filter at that link, as in CAKE; GRO "
        f"at the receiver), a faster uplink, or fewer bytes of buffer help in the first case. {first} in the second."
    )


def _compressed(view: FlowContext) -> Finding | None:
    gaps = view.figures["ack_interarrival_ms"]
    if gaps["count"] < _ENOUGH or not view.pace_seen:
        return None  # where the receiver is, gaps are those with which ACKs leave
    compressed, close = gaps["compressed_share"] or 0.0, _close(gaps)
    # Data that leaves in bunches is answered in bunches; with a queue standing the bottleneck has spread it before it was.
    bunched = close >= _MOSTLY and gaps["mean"] >= _BUNCHED_MS and view.held("path_rate") >= _QUEUED_SHARE
    left_so = view.arriving is not None and _close(view.arriving["ack_interarrival_ms"]) > 0.75 * close
    if left_so or not (bunched or compressed >= _SQUEEZED):
        return None
    sentence = f"{share(close)} of the ACKs arrive within 1 ms of the one before, {share(compressed)} less than a quarter as far apart as the data that they acknowledge"
    long = sum(b["count"] for b in gaps["histogram"] if b["up_to"] is None or b["up_to"] > _GAP_MS)
    if long:
        sentence += f", with {long} gaps above {_GAP_MS} ms (the longest {milliseconds(gaps['max'])})"
    own = float(view.other["goodput_bps"] or 0.0) if view.other["unique_bytes"] > 0.1 * view.figures["unique_bytes"] else 0.0
    advice = (
        "Let ACKs go first on the uplink (or per-flow queues there), or shorten its queue: data waits, ACKs hardly take room."
    )
    if own or view.shared_bps > _DATA_BPS:
        why = f": the uplink is shared with {rate(own + view.shared_bps)} of data"
    elif long >= _SEVERAL:
        why = ": the uplink is shared with data that this capture does not have, or sends in turns (frames, grants)"
    else:
        why = ": the way back sends in turns (frames, grants), or a host or card joined packets before the capture"
        advice = "Bunched ACKs release bunches of data: pacing at the sender evens them out."
    return Finding(view.direction, "ack_compression", sentence + why + ".", advice=advice)


def _close(gaps: Mapping[str, Any]) -> float:
    """The share of gaps of 1 ms or less."""
    return float(sum(b["count"] for b in gaps["histogram"] if b["up_to"] is not None and b["up_to"] <= 1) / max(1, gaps["count"]))


def _thinned(view: FlowContext) -> Finding | None:
    gaps = view.figures["ack_interarrival_ms"]
    each = gaps["segments_per_ack"] or 0.0
    if gaps["count"] < _ENOUGH or each < 3.0:
        return None
    evidence = (
        f"One ACK for {each:.1f} segments on average, {share(gaps['stretched_share'] or 0.0)} of them for more than two: the receiver's host "
        "joins segments (GRO, LRO), or something on the way back thins ACKs."
    )
    return Finding(view.direction, "stretch_acks", evidence)
