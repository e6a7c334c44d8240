"""Time in loss recovery, and its remedies."""

from __future__ import annotations

from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, many
from ackclock.format import milliseconds
from ackclock.limits import claim, sentence

_MATTERS = 0.2
_AT_ONCE = 8
"""Segments lost in one event, above which a queue overflow rather than the link is the cause."""
_LONG = 1.5
"""A mean RTT above this multiple of the minimum has a queue."""


def finding(context: FlowContext, share_of_time: float) -> Finding:
    """The share of time in loss recovery, the time of each, and the reasons."""
    repairs, retransmitted = context.figures["repairs"], context.figures["retransmitted_segments"]
    fast, timeouts = repairs["recoveries"], repairs["timeouts"]
    each, rtt = (
        1e3 * share_of_time * float(context.flow["duration_s"]) / max(1, context.loss_events),
        float(context.figures["rtt_ms"]["p50"] or 0.0),
    )
    trips = f", {each / rtt:.1f} times the median RTT" if rtt else ""
    evidence = (
        f"{sentence(claim('recovery', share=share_of_time))}: {many(retransmitted, 'segment')} "
        f"retransmitted in {many(fast, 'fast recovery').replace('recoverys', 'recoveries')} and "
        f"{many(timeouts, 'timeout') if timeouts else 'no timeout'}, {milliseconds(each)} each on "
        f"average{trips}."
    )
    return Finding(context.direction, "recovery", evidence, share_of_time, _advice(context, share_of_time))


def _advice(context: FlowContext, share_of_time: float) -> str:
    """The reasons and remedies, the most likely one first."""
    repairs, rtt = context.figures["repairs"], context.figures["rtt_ms"]
    at_once = (context.figures["retransmitted_segments"] - context.not_needed) / max(1, context.loss_events)
    minimum, mean = float(rtt["min"] or 0.0), float(rtt["mean"] or 0.0)
    reasons = []
    if not context.flow["handshake"]["sack"]:
        reasons.append("SACK was not negotiated: with it, several losses of one window are recovered in one RTT.")
    elif repairs["timeouts"] and (share_of_time >= _MATTERS or 2 * repairs["timeouts"] >= context.loss_events):
        reasons.append(
            "Timeouts take most of it: tail loss probes and RACK (RFC 8985) at the sender replace many of them."
        )
    cause = (context.crossing.get("loss_cause") or {}).get("verdict", "unclear")
    if at_once >= _AT_ONCE and cause != "radio":
        otherwise = "" if cause == "congestion" else ", or the link failed for a while"
        reasons.append(
            f"{at_once:.0f} segments were lost at a time: the window far exceeded the path's "
            f"capacity{otherwise}. A slow start that ends earlier (HyStart++, RFC 9406), pacing, or "
            "a queue that drops or marks early loses fewer in an overflow."
        )
    if minimum and mean > _LONG * minimum:
        reasons.append(
            f"A recovery takes an RTT, which is {milliseconds(mean)} on average instead of "
            f"{milliseconds(minimum)}: a shorter queue shortens recovery, too."
        )
    if not reasons:
        reasons.append(
            f"Each loss costs about an RTT of {milliseconds(mean or minimum)}: only fewer losses "
            "(link-layer ARQ, FEC) or a nearer server reduce it."
        )
    return " ".join(reasons)
