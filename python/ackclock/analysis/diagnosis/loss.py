"""Losses: how many, of what kind, where, and whether the rate is what losses allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ackclock.analysis.diagnosis import acks, loss_models
from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, many, share, size
from ackclock.format import milliseconds, percent, rate

_BURST = 4


def findings(view: FlowContext) -> Iterator[Finding]:
    """What losses did, and what they were."""
    for rule in (_where, _buffer, _bursts, _capture_drops, loss_models.finding, _spurious, _pairs, _twice, _reordered, _marked):
        if (found := rule(view)) is not None:
            yield found


def _where(view: FlowContext) -> Finding | None:
    cause: Any = view.crossing.get("loss_cause")
    lost = view.crossing["lost"]["between_captures"] if view.crossing else 0
    if not cause or not lost or cause["verdict"] == "unclear":
        return None
    said = {
        "congestion": ("Losses follow delay peaks: buffer overflow, not radio", "A longer or self-managing queue, or a sender that backs "
            "off before the buffer is full, avoids them; a better radio does not."),
        "radio": ("Losses come at any delay: the link loses packets, no buffer overflows", "Repair them on the link (ARQ, HARQ, FEC), or use "
            "a congestion control that does not take each loss for congestion."),
        "both": ("Some losses follow delay peaks, others come at any delay: buffer overflow and a link that loses packets", ""),
    }  # fmt: skip
    sentence, advice = said[cause["verdict"]]
    if cause["verdict"] == "congestion" and (acks.excess(view.crossing, "p95") or 0.0) > (view.figures["rtt_ms"]["min"] or 0.0):
        advice = (
            "A queue that manages itself (CoDel, FQ-CoDel, PIE; with ECN without losses), or a sender that backs off before the buffer is full, avoids "
            "them. A longer buffer would only add delay; a better radio does not help."
        )
    evidence = (
        f"{sentence} ({cause['evidence']}; {percent(view.crossing['loss_rate'])} of the packets lost between the captures)."
    )
    return Finding(view.direction, f"loss_{cause['verdict']}", evidence, advice=advice)


# Why the estimate may not be one droptail queue's buffer.
_DOUBTS = {
    "marks": "Packets were marked on their way, so the queue manages itself and this is what it let stand, not its size.",
    "early_drops": "Drops come well below the greatest delay: a queue that manages itself, or several queues.",
    "delay_tail": "The greatest delays stand alone, as a radio's retransmissions make them, and are left out.",
    "flow_queues": "Flows overtake each other and not themselves: each has a queue of its own, and this is one of them.",
    "token_bucket": "A token bucket meters the link, so the rate depends on what passed before.",
}


def _buffer(view: FlowContext) -> Finding | None:
    buffer: Any = view.crossing.get("bottleneck_buffer_bytes") or {}
    if not buffer.get("max_based") or not buffer["rate_bps"]:
        return None
    full = buffer["max_based"]
    seconds = full * 8 / buffer["rate_bps"]
    if not buffer["filled"]:
        if seconds < 0.05:
            return None
        evidence = f"At least {size(full)} waited at the bottleneck, {milliseconds(1e3 * seconds)} at {rate(buffer['rate_bps'])}, and nothing overflowed."
        return Finding(view.direction, "buffer_at_least", evidence)
    least = buffer["min_based"]
    both = f"{size(least)} by the least delay beside a loss, {size(full)} by the greatest delay" if least else size(full)
    if least and size(least) == size(full):
        both = f"{size(full)}, by the least delay beside a loss as by the greatest delay"
    evidence = f"The bottleneck's buffer holds {both}: {milliseconds(1e3 * seconds)} at {rate(buffer['rate_bps'])}."
    evidence += "".join(f" {_DOUBTS[doubt]}" for doubt in buffer.get("doubts", ()))
    return Finding(view.direction, "buffer", evidence)


def _bursts(view: FlowContext) -> Finding | None:
    bursts: Any = view.crossing.get("loss_bursts")
    # One packet alone in its bin and lost is no burst.
    large = [burst for burst in (bursts or {}).get("bursts", ()) if burst["lost"] >= _BURST]
    if not large:
        return None
    longest = max(large, key=lambda b: b["duration_ms"])
    evidence = (
        f"{many(len(large), 'loss burst')} (bins of {bursts['bin_ms']} ms with more than half lost, {_BURST} packets at least; "
        f"{sum(b['peak_share'] >= 0.8 for b in large)} with 80 % or more, {sum(b['peak_share'] >= 1 for b in large)} with all); the longest lasted {milliseconds(longest['duration_ms'])}, "
        f"{longest['lost']} of {longest['sent']} packets."
    )
    return Finding(view.direction, "loss_bursts", evidence)


def _capture_drops(view: FlowContext) -> Finding | None:
    lost: Any = view.crossing.get("lost") or {}
    drops = lost.get("capture_drops_receiver", 0) + lost.get("capture_drops_sender", 0)
    missed = 0 if view.crossing else view.figures["repairs"]["missed_bytes"]
    if drops:
        evidence = (
            f"{many(drops, 'packet')} passed but are missing in a capture: the capturing host dropped them, not the network."
        )
    elif missed > 2 * view.segment:
        evidence = f"{size(missed)} were acknowledged that the capture never saw: it dropped packets, or they took another path."
    else:
        return None
    return Finding(
        view.direction, "capture_drops", evidence, advice="Capture with a larger buffer (tcpdump -B) or only the headers (-s 96)."
    )


def _spurious(view: FlowContext) -> Finding | None:
    wrong, again = view.not_needed, view.figures["retransmitted_segments"]
    if wrong < 3 or wrong < 0.1 * again:
        return None
    by = view.figures["spurious"]
    if wrong > view.figures["spurious_retransmits"] and view.arriving is not None:
        by = view.arriving["spurious"]
    how = [
        f"{by[key]} by {name}"
        for key, name in (("dsack", "D-SACK"), ("timestamp", "the echoed stamp"), ("early_ack", "too early an ACK"))
        if by[key]
    ]
    evidence = f"{wrong} of {many(again, 'retransmission')} were not needed ({', '.join(how)}): the segments had arrived."
    advice = "Look for delay spikes or reordering on the path; F-RTO and RACK's reordering window (RFC 5682, RFC 8985) help at the sender."
    return Finding(view.direction, "spurious_retransmissions", evidence, advice=advice)


def _pairs(view: FlowContext) -> Finding | None:
    """wimax-measured's question (papers/README.md, 7.7): are timeouts that follow a fast retransmission spurious?"""
    repairs = view.figures["repairs"]
    pairs, wasted, timeouts = repairs["pairs"], repairs["pairs_not_needed"], repairs["timeouts"]
    if not pairs:
        return None
    needed = "the segment had been lost" if pairs == 1 else "the segments had been lost"
    verdict = (
        f"{wasted} of them not needed, by the time of their ACK" if wasted else f"none was acknowledged too soon, so {needed}"
    )
    evidence = f"{pairs} of {many(timeouts, 'timeout')} came in a recovery that duplicate ACKs had begun: {verdict}."
    advice = (
        "F-RTO (RFC 5682) at the sender takes such timeouts back."
        if wasted
        else "With SACK and RACK-TLP (RFC 8985) a sender repairs several losses of one window without a timeout."
    )
    return Finding(view.direction, "timeout_pairs", evidence, advice=advice)


def _twice(view: FlowContext) -> Finding | None:
    count = view.figures["repairs"]["fast_then_timeout"]
    if not count:
        return None
    evidence = f"{many(count, 'segment')} had to be sent a third time, after a timeout: the fast retransmission was lost as well."
    return Finding(
        view.direction,
        "lost_retransmissions",
        evidence,
        advice="RACK (RFC 8985) at the sender finds lost retransmissions without a timeout.",
    )


def _reordered(view: FlowContext) -> Finding | None:
    # The capture near the receiver sees what the network overtook.
    late = max(seen["out_of_order"] for seen in (view.figures, view.arriving) if seen is not None)
    rate_ = late / max(1, view.figures["segments"])
    if late < 3 or rate_ < 0.001:
        return None
    evidence = f"{many(late, 'segment')} ({share(rate_)}) were overtaken on the way: the path reorders."
    return Finding(
        view.direction, "reordering", evidence, advice="Look for parallel paths or link-layer repair without resequencing."
    )


def _marked(view: FlowContext) -> Finding | None:
    marks = view.figures["ecn"]["marked"]
    echoed = view.other["ecn"]["echoed"]
    if not marks and not echoed:
        return None
    evidence = f"A queue on the path manages itself: {many(max(marks, echoed), 'ECN mark')} seen or echoed."
    return Finding(view.direction, "ecn", evidence)
