"""The way back: what happens to ACKs."""

from __future__ import annotations

from collections.abc import Iterator

from ackclock.analysis.diagnosis.view import Finding, View, share
from ackclock.report.numbers import milliseconds, rate

_MOSTLY = 0.5
_ENOUGH = 50
_GAP_MS = 90
"""Gaps from here on, in an ACK stream that otherwise comes in bunches, are the other side's turn on the link (`wimax-measured`)."""


def findings(view: View) -> Iterator[Finding]:
    """Compressed and thinned ACKs."""
    for rule in (_compressed, _thinned):
        if (found := rule(view)) is not None:
            yield found


def _compressed(view: View) -> Finding | None:
    gaps = view.figures["ack_interarrival_ms"]
    compressed = gaps["compressed_share"] or 0.0
    if gaps["count"] < _ENOUGH:
        return None
    close = sum(b["count"] for b in gaps["histogram"] if b["up_to"] is not None and b["up_to"] <= 1) / gaps["count"]
    long = sum(b["count"] for b in gaps["histogram"] if b["up_to"] is None or b["up_to"] > _GAP_MS)
    if close < _MOSTLY and compressed < 0.3:
        return None
    sentence = f"{share(close)} of the ACKs arrive within 1 ms of the one before, {share(compressed)} closer together than a quarter of what they answer"
    if long:
        sentence += f", with {long} gaps above {_GAP_MS} ms (the longest {milliseconds(gaps['max'])})"
    back = view.other["unique_bytes"]
    if back > 0.1 * view.figures["unique_bytes"]:
        why = f": the way back is shared with {rate(view.other['goodput_bps'])} of data"
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
