"""The way back: what happens to ACKs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ackclock.analysis.diagnosis.view import Finding, View, share
from ackclock.report.numbers import milliseconds, rate

_MOSTLY = 0.5
_ENOUGH = 50
_QUEUE_MS = 50.0
_STANDS = 0.1
_MOSTLY_QUEUED = 0.55
_DATA_BPS = 10e3
"""Less than this is a control connection's talk."""
_GAP_MS = 90
"""Gaps from here on, in an ACK stream that otherwise comes in bunches, are the other side's turn on the link (`wimax-measured`)."""


def findings(view: View) -> Iterator[Finding]:
    """Compressed and thinned ACKs."""
    for rule in (_queued, _compressed, _thinned):
        if (found := rule(view)) is not None:
            yield found


def _queued(view: View) -> Finding | None:
    """ACKs that wait at times while the data's own queue sets the pace; where they wait most, `ack_path` has the share of time."""
    there, back = excess(view.crossing, "p95"), excess(view.back, "p95")
    if there is None or back is None or acks_wait_most(view) or back < max(_QUEUE_MS, there):
        return None
    evidence = f"ACKs wait as well, at times: {milliseconds(back)} above the least delay of their way (p95; the data's way {milliseconds(there)})."
    return Finding(view.direction, "ack_queue", evidence, advice=relief(view))


def excess(crossing: Mapping[str, Any], figure: str) -> float | None:
    """A way's p50 or p95 delay above its least, ms: right whatever the clocks' offset."""
    delay = crossing.get("one_way_delay_ms") or {}
    return None if delay.get(figure) is None else float(delay[figure] - delay["min"])


def acks_wait_most(view: View) -> bool:
    """The queue in the time that the path's rate has is the ACKs': a few great delays make no standing queue."""
    there, back = excess(view.crossing, typical(view)), excess(view.back, typical(view))
    return there is not None and back is not None and back > max(there, _STANDS * (view.figures["rtt_ms"]["min"] or 0.0))


def typical(view: View) -> str:
    """The delay in the middle of the time with a queue: of a share h its quantile is 1 - h/2, nearer to the median or to p95."""
    return "p50" if view.held("path_rate") > _MOSTLY_QUEUED else "p95"


def relief(view: View) -> str:
    """What helps ACKs that wait: another remedy with data beside them than alone."""
    if view.other["unique_bytes"] > 0.1 * view.figures["unique_bytes"] or view.shared_bps > _DATA_BPS:
        return "Data shares the way back. ACKs first, or per-flow queues, on the way back (or fewer bytes of buffer there) give the sender its clock back."
    return (
        "No data shares the way back in this capture, so ACKs alone fill it: fewer ACKs (a filter at that link, as in CAKE; GRO at the receiver), "
        "a faster uplink, or fewer bytes of buffer there."
    )


def _compressed(view: View) -> Finding | None:
    gaps = view.figures["ack_interarrival_ms"]
    compressed = gaps["compressed_share"] or 0.0
    if gaps["count"] < _ENOUGH or not view.pace_seen:
        return None  # where the receiver is, gaps are those with which ACKs leave
    close = sum(b["count"] for b in gaps["histogram"] if b["up_to"] is not None and b["up_to"] <= 1) / gaps["count"]
    long = sum(b["count"] for b in gaps["histogram"] if b["up_to"] is None or b["up_to"] > _GAP_MS)
    if close < _MOSTLY and compressed < 0.3:
        return None
    sentence = f"{share(close)} of the ACKs arrive within 1 ms of the one before, {share(compressed)} less than a quarter as far apart as the data that they acknowledge"
    if long:
        sentence += f", with {long} gaps above {_GAP_MS} ms (the longest {milliseconds(gaps['max'])})"
    own = float(view.other["goodput_bps"] or 0.0) if view.other["unique_bytes"] > 0.1 * view.figures["unique_bytes"] else 0.0
    if own or view.shared_bps > _DATA_BPS:
        why = f": the way back is shared with {rate(own + view.shared_bps)} of data"
        advice = (
            "Let ACKs go first on the uplink (or per-flow queues there), or shorten its queue: data waits, ACKs hardly take room."
        )
    else:
        why = ": the way back sends in turns (frames, grants), or a host or card joined packets before the capture"
        advice = "Bunched ACKs release bunches of data: pacing at the sender evens them out."
    return Finding(view.direction, "ack_compression", sentence + why + ".", advice=advice)


def _thinned(view: View) -> Finding | None:
    gaps = view.figures["ack_interarrival_ms"]
    each = gaps["segments_per_ack"] or 0.0
    if gaps["count"] < _ENOUGH or each < 3.0:
        return None
    evidence = (
        f"One ACK for {each:.1f} segments on average, {share(gaps['stretched_share'] or 0.0)} of them for more than two: the receiver's host "
        "joins segments (GRO, LRO), or something on the way back thins ACKs."
    )
    return Finding(view.direction, "stretch_acks", evidence)
