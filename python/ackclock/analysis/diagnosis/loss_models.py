"""Whether the rate is what losses allow: closed forms for what was lost, beside what was measured."""

from __future__ import annotations

import math

from ackclock import models
from ackclock.analysis.diagnosis import acks
from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, share
from ackclock.format import milliseconds, rate

_RTO_MIN_S = 0.2
_REACHED = 0.3
"""Of the time: a queue that stands longer shows that the path's rate is reached."""
_COUNTS = 1.2
"""Segments an ACK from which on it matters whether a sender counts ACKs or segments."""
LIMITS = {
    "receive_window": "the receive window",
    "send_buffer": "a send buffer",
    "path_rate": "the path's rate",
    "cwnd": "the congestion window or pacing",
    "application": "the application",
    "recovery": "repair",
}
EVENTS = 3
"""Fewer make no rate of losses."""


def rate_models(view: FlowContext, times: float = 1.0) -> dict[str, float]:
    """What closed forms give for this direction's loss rate, round trip and window, bit/s; empty where fewer than three losses make no rate of them.

    `counted_bps` is Padhye's model of a sender whose window grows by segments acknowledged, not by ACKs: Linux's do, and RFC 3465's. CUBIC gets
    no less than Reno of its kind (RFC 9438, section 4.3). `times` multiplies the losses.
    """
    rtt, events = view.figures["rtt_ms"], view.loss_events
    if events < EVENTS or not rtt["mean"] or not view.pace_seen:
        return {}
    seconds, p, bits = rtt["mean"] * 1e-3, min(view.loss_rate * times, 0.5), 8.0 * view.segment
    per_ack = _per_ack(view)
    window = max(1.0, (view.figures["advertised_window_bytes"]["max"] or 0) / view.segment)
    rto = max(_RTO_MIN_S, 4.0 * (rtt["sd"] or 0.0) * 1e-3) + seconds
    counted = models.padhye_full(p, seconds, rto, 1.0, window)
    return {
        "mathis_bps": models.mathis(p, seconds, per_ack) * bits,
        "padhye_bps": models.padhye_full(p, seconds, rto, per_ack, window) * bits,
        "counted_bps": counted * bits,
        "cubic_bps": max(counted, models.cubic_response(p, seconds) / seconds) * bits,
    }


def _per_ack(view: FlowContext) -> float:
    return min(2.0, max(1.0, float(view.figures["ack_interarrival_ms"]["segments_per_ack"] or 1.0)))


def finding(view: FlowContext) -> Finding | None:
    """The closed forms beside the rate, and what fewer losses would give."""
    if not (found := rate_models(view)):
        return None
    measured = float(view.figures["goodput_bps"] or 0.0)
    counted = (
        f", or {rate(found['counted_bps'])} where it counts segments and not ACKs, as Linux does,"
        if _per_ack(view) > _COUNTS
        else ""
    )
    evidence = (
        f"With {view.loss_events} loss events in {view.figures['segments']} segments and a mean RTT of "
        f"{milliseconds(view.figures['rtt_ms']['mean'])}, Reno would get {rate(found['padhye_bps'])} (Padhye's model; "
        f"{rate(found['mathis_bps'])} by the square-root formula){counted} and CUBIC {rate(found['cubic_bps'])}; measured: {rate(measured)}."
    )
    return Finding(view.direction, "models", evidence, advice=_what_losses_allow(view, found, measured))


def _what_losses_allow(view: FlowContext, found: dict[str, float], measured: float) -> str:
    """What the closed forms say of this rate."""
    reno, cubic = found[_nearer(found, measured)], found["cubic_bps"]
    known = (view.crossing.get("bottleneck_buffer_bytes") or {}).get("rate_bps") or 0.0
    queued, repaired = view.held("path_rate"), view.held("recovery")
    if queued > _REACHED and repaired > queued:
        return f"Both count here: a queue stood {share(queued)} of the time, and repairs took {share(repaired)}."
    if queued > _REACHED or (known and measured > 0.75 * known):
        pace = "The queue of the ACKs" if acks.acks_wait_most(view) else "The path's rate"
        return f"{pace} sets the pace: fewer losses would hardly make this flow faster."
    if measured > 2 * max(reno, cubic):
        return "The sender does not answer losses as Reno or CUBIC do, or losses are not what sets its rate."
    if measured < 0.5 * min(reno, cubic):
        most = max((by for by in LIMITS if by != "recovery"), key=view.held)
        return f"These losses alone would allow more: {LIMITS[most]} held the flow {share(view.held(most))} of the time."
    return _what_fewer_give(view, found, measured)


def _nearer(found: dict[str, float], measured: float) -> str:
    """The model of a Reno that counts as this sender seems to: ACKs, or segments."""
    return min(("padhye_bps", "counted_bps"), key=lambda key: abs(measured - found[key]))


def _what_fewer_give(view: FlowContext, found: dict[str, float], measured: float) -> str:
    """Which model the rate is near, and the models' rates for a quarter of the losses."""
    counts = _nearer(found, measured)
    reno, cubic, fewer = found[counts], found["cubic_bps"], rate_models(view, 0.25)
    by_rtt = abs(math.log(measured / reno)) <= abs(math.log(measured / cubic))
    least, mean = view.figures["rtt_ms"]["min"], view.figures["rtt_ms"]["mean"]
    shorter = (
        f" The RTT counts as well: at its least, {milliseconds(least)}, Reno would get {rate(reno * mean / least)} with these losses."
        if by_rtt and mean > 1.5 * least
        else ""
    )
    near = "Reno's and CUBIC's alike" if reno == cubic else f"{'Reno' if by_rtt else 'CUBIC'}'s"
    gives = [f"{rate(fewer[counts])} with Reno", f"{rate(fewer['cubic_bps'])} with CUBIC"]
    told = f"{rate(fewer[counts])} with either" if fewer[counts] == fewer["cubic_bps"] else " and ".join(gives)
    return f"The rate is what these losses leave, near {near}: a quarter of them would give about {told}, while the path has room.{shorter}"
