"""Time that goes by in repairing losses, and what would make it less."""

from __future__ import annotations

from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, many, share
from ackclock.format import milliseconds

_MATTERS = 0.2
_AT_ONCE = 8
"""Segments lost in one event: a whole queue's overflow rather than a link's loss."""
_LONG = 1.5
"""Of the least round trip: a mean above it is made longer by a queue."""


def finding(view: FlowContext, held: float) -> Finding:
    """How long repairs took, one by one, and why."""
    repairs, again = view.figures["repairs"], view.figures["retransmitted_segments"]
    fast, timeouts = repairs["recoveries"], repairs["timeouts"]
    each, rtt = (
        1e3 * held * float(view.flow["duration_s"]) / max(1, view.loss_events),
        float(view.figures["rtt_ms"]["p50"] or 0.0),
    )
    trips = f", {each / rtt:.1f} times the median round trip" if rtt else ""
    evidence = (
        f"{share(held)} of the time went by in repairing losses: {many(again, 'segment')} sent again in "
        f"{many(fast, 'fast recovery').replace('recoverys', 'recoveries')} and {many(timeouts, 'timeout') if timeouts else 'no timeout'}, "
        f"{milliseconds(each)} each on average{trips}."
    )
    return Finding(view.direction, "recovery", evidence, held, _advice(view, held))


def _advice(view: FlowContext, held: float) -> str:
    """The most telling reason first."""
    repairs, rtt = view.figures["repairs"], view.figures["rtt_ms"]
    at_once = (view.figures["retransmitted_segments"] - view.not_needed) / max(1, view.loss_events)
    least, mean = float(rtt["min"] or 0.0), float(rtt["mean"] or 0.0)
    said = []
    if not view.flow["handshake"]["sack"]:
        said.append("SACK was not agreed on: with it several losses of one window are repaired in one round trip.")
    elif repairs["timeouts"] and (held >= _MATTERS or 2 * repairs["timeouts"] >= view.loss_events):
        said.append("Timeouts cost most: tail-loss probes and RACK (RFC 8985) at the sender replace many of them.")
    cause = (view.crossing.get("loss_cause") or {}).get("verdict", "unclear")
    if at_once >= _AT_ONCE and cause != "radio":
        otherwise = "" if cause == "congestion" else ", or the link failed for a while"
        said.append(
            f"{at_once:.0f} segments were lost at a time: the window ran far past what the path holds{otherwise}. A slow start that ends earlier (HyStart++, RFC 9406), "
            "pacing, or a queue that drops or marks early loses fewer in an overflow."
        )
    if least and mean > _LONG * least:
        said.append(
            f"A repair takes a round trip, and those take {milliseconds(mean)} on average instead of {milliseconds(least)}: less queue makes repairs shorter too."
        )
    if not said:
        said.append(
            f"Each loss costs about a round trip of {milliseconds(mean or least)}: only fewer losses (repair at the link: ARQ, FEC), or a nearer server, make it less."
        )
    return " ".join(said)
