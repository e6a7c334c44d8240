"""Findings about losses: cause, buffer, bursts, spurious retransmissions, reordering, ECN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ackclock.analysis.diagnosis import acks, loss_models
from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, many, share, size
from ackclock.format import milliseconds, percent, rate

_BURST = 4
_NAMED_STALLS = 5


def findings(context: FlowContext) -> Iterator[Finding]:
    """The findings of all rules about losses."""
    for rule in (
        _where,
        _buffer,
        _stalls,
        _bursts,
        _capture_drops,
        loss_models.finding,
        _spurious,
        _pairs,
        _twice,
        _reordered,
        _marked,
    ):
        if (found := rule(context)) is not None:
            yield found


def _where(context: FlowContext) -> Finding | None:
    cause: Any = context.crossing.get("loss_cause")
    lost = context.crossing["lost"]["between_captures"] if context.crossing else 0
    if not cause or not lost or cause["verdict"] == "unclear":
        return None
    sentences = {
        "congestion": (
            "Losses occur when the queue is long: buffer overflow, not radio",
            "A longer queue, active queue management, or a sender that reduces its window before "
            "the buffer is full avoids them; a better radio does not.",
        ),
        "radio": (
            "Losses come at any delay: the link loses packets, no buffer overflows",
            "Use link-layer retransmission (ARQ, HARQ) or FEC, or a congestion control that does "
            "not reduce its window for each loss.",
        ),
        "both": (
            "Some losses occur when the queue is long, others at any length: buffer overflow and a link that loses "
            "packets",
            "",
        ),
    }
    sentence, advice = sentences[cause["verdict"]]
    if cause["verdict"] == "congestion" and (acks.excess(context.crossing, "p95") or 0.0) > (
        context.figures["rtt_ms"]["min"] or 0.0
    ):
        advice = (
            "Active queue management (CoDel, FQ-CoDel, PIE; with ECN without losses), or a sender "
            "that reduces its window before the buffer is full, avoids them. A longer buffer would "
            "only add delay; a better radio does not help."
        )
    if cause["verdict"] == "both":
        sentence += f" ({share(cause['radio_share'])} of them)"
    evidence = (
        f"{sentence} ({cause['evidence']}; {percent(context.crossing['loss_rate'])} of the packets "
        "lost between the captures)."
    )
    return Finding(context.direction, f"loss_{cause['verdict']}", evidence, advice=advice)


# Reasons why the estimate may not be the size of one droptail queue.
_UNCERTAINTY = {
    "marks": (
        "Packets were marked with CE, so the queue has active queue management, and this is its length, not its size."
    ),
    "early_drops": "Drops occur well below the maximum delay: active queue management, or several queues.",
    "delay_tail": "The largest delays are outliers, such as retransmissions of a radio, and are left out.",
    "flow_queues": (
        "Packets of different flows are reordered, those of one flow are not: each flow has a "
        "queue, and this is one of them."
    ),
    "token_bucket": "A token bucket limits the link, so the rate depends on earlier traffic.",
}


def _buffer(context: FlowContext) -> Finding | None:
    buffer: Any = context.crossing.get("bottleneck_buffer_bytes") or {}
    if not buffer.get("max_based") or not buffer["rate_bps"]:
        return None
    full = buffer["max_based"]
    seconds = full * 8 / buffer["rate_bps"]
    if not buffer["filled"]:
        if seconds < 0.05:
            return None
        evidence = (
            f"At least {size(full)} waited at the bottleneck, {milliseconds(1e3 * seconds)} at "
            f"{rate(buffer['rate_bps'])}, and nothing overflowed."
        )
        return Finding(context.direction, "buffer_at_least", evidence)
    minimum = buffer["min_based"]
    estimate = (
        f"{size(minimum)} by the minimum delay next to a loss, {size(full)} by the maximum delay"
        if minimum
        else size(full)
    )
    if minimum and size(minimum) == size(full):
        estimate = f"{size(full)}, by the minimum delay next to a loss and by the maximum delay"
    evidence = f"The bottleneck's buffer holds {estimate}: {milliseconds(1e3 * seconds)} at {rate(buffer['rate_bps'])}."
    evidence += "".join(f" {_UNCERTAINTY[reason]}" for reason in buffer.get("doubts", ()))
    return Finding(context.direction, "buffer", evidence)


def _stalls(context: FlowContext) -> Finding | None:
    stalls: Any = context.crossing.get("link_stalls")
    if not stalls:
        return None
    times = [f"{milliseconds(stall['duration_ms'])} at {stall['start_s']:.2f} s" for stall in stalls[:_NAMED_STALLS]]
    more = f" and {len(stalls) - _NAMED_STALLS} more" if len(stalls) > _NAMED_STALLS else ""
    evidence = (
        f"The link stalled {many(len(stalls), 'time')}: it delivered nothing although packets waited, then went on "
        f"({', '.join(times)}{more}, after the direction's first packet)."
    )
    return Finding(
        context.direction,
        "link_stall",
        evidence,
        advice="Search for a handover, a radio scheduler or a suspended host; neither a buffer nor a congestion "
        "control removes it.",
    )


def _bursts(context: FlowContext) -> Finding | None:
    bursts: Any = context.crossing.get("loss_bursts")
    # A single lost packet in its bin is no burst.
    large = [burst for burst in (bursts or {}).get("bursts", ()) if burst["lost"] >= _BURST]
    if not large:
        return None
    longest = max(large, key=lambda b: b["duration_ms"])
    evidence = (
        f"{many(len(large), 'loss burst')} (bins of {bursts['bin_ms']} ms with more than half lost, "
        f"at least {_BURST} packets; {sum(b['peak_share'] >= 0.8 for b in large)} with 80 % or "
        f"more, {sum(b['peak_share'] >= 1 for b in large)} with all); the longest lasted "
        f"{milliseconds(longest['duration_ms'])}, {longest['lost']} of {longest['sent']} packets."
    )
    return Finding(context.direction, "loss_bursts", evidence)


def _capture_drops(context: FlowContext) -> Finding | None:
    lost: Any = context.crossing.get("lost") or {}
    drops = lost.get("capture_drops_receiver", 0) + lost.get("capture_drops_sender", 0)
    missed = 0 if context.crossing else context.figures["repairs"]["missed_bytes"]
    if drops:
        evidence = (
            f"{many(drops, 'packet')} passed a capture point but are missing in its capture: the "
            "capturing host dropped them, not the network."
        )
    elif missed > 2 * context.segment:
        evidence = (
            f"{size(missed)} were acknowledged but not captured: the capture dropped packets, or "
            "they took another path."
        )
    else:
        return None
    return Finding(
        context.direction,
        "capture_drops",
        evidence,
        advice="Capture with a larger buffer (tcpdump -B) or only the headers (-s 96).",
    )


def _spurious(context: FlowContext) -> Finding | None:
    spurious, retransmitted = context.not_needed, context.figures["retransmitted_segments"]
    if spurious < 3 or spurious < 0.1 * retransmitted:
        return None
    by = context.figures["spurious"]
    if spurious > context.figures["spurious_retransmits"] and context.arriving is not None:
        by = context.arriving["spurious"]
    evidence_of = [
        f"{by[key]} by {name}"
        for key, name in (("dsack", "D-SACK"), ("timestamp", "the echoed timestamp"), ("early_ack", "an early ACK"))
        if by[key]
    ]
    evidence = (
        f"{spurious} of {many(retransmitted, 'retransmission')} were spurious "
        f"({', '.join(evidence_of)}): the segments had arrived."
    )
    advice = (
        "Search for delay spikes or reordering on the path; F-RTO and RACK's reordering window "
        "(RFC 5682, RFC 8985) help at the sender."
    )
    return Finding(context.direction, "spurious_retransmissions", evidence, advice=advice)


def _pairs(context: FlowContext) -> Finding | None:
    """wimax-measured's question (section 4.3): are timeouts after a fast retransmission
    spurious?
    """
    repairs = context.figures["repairs"]
    pairs, wasted, timeouts = repairs["pairs"], repairs["pairs_not_needed"], repairs["timeouts"]
    if not pairs:
        return None
    needed = "the segment had been lost" if pairs == 1 else "the segments had been lost"
    verdict = (
        f"{wasted} of them spurious, by the time of their ACK" if wasted else f"none had an early ACK, so {needed}"
    )
    evidence = f"{pairs} of {many(timeouts, 'timeout')} occurred in a recovery started by duplicate ACKs: {verdict}."
    advice = (
        "F-RTO (RFC 5682) at the sender reverts such timeouts."
        if wasted
        else "With SACK and RACK-TLP (RFC 8985) a sender recovers several losses of one window without a timeout."
    )
    return Finding(context.direction, "timeout_pairs", evidence, advice=advice)


def _twice(context: FlowContext) -> Finding | None:
    count = context.figures["repairs"]["fast_then_timeout"]
    if not count:
        return None
    evidence = (
        f"{many(count, 'segment')} had a third transmission, after a timeout: the fast retransmission was lost, too."
    )
    return Finding(
        context.direction,
        "lost_retransmissions",
        evidence,
        advice="RACK (RFC 8985) at the sender detects lost retransmissions without a timeout.",
    )


def _reordered(context: FlowContext) -> Finding | None:
    # Reordering in the network is visible in the capture near the receiver.
    late = max(seen["out_of_order"] for seen in (context.figures, context.arriving) if seen is not None)
    rate_ = late / max(1, context.figures["segments"])
    if late < 3 or rate_ < 0.001:
        return None
    evidence = f"{many(late, 'segment')} ({share(rate_)}) were reordered by the path."
    return Finding(
        context.direction,
        "reordering",
        evidence,
        advice="Search for parallel paths or link-layer retransmission without resequencing.",
    )


def _marked(context: FlowContext) -> Finding | None:
    marks = context.figures["ecn"]["marked"]
    echoed = context.other["ecn"]["echoed"]
    if not marks and not echoed:
        return None
    evidence = (
        f"A queue on the path has active queue management: {many(max(marks, echoed), 'ECN mark')} captured or echoed."
    )
    return Finding(context.direction, "ecn", evidence)
