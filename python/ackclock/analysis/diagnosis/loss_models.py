"""Closed-form throughput models for the measured losses, beside the measured rate."""

from __future__ import annotations

import math

from ackclock.analysis.diagnosis import acks, limit_shares
from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, share
from ackclock.analysis.diagnosis.loss_response import LOSSES_LIMIT, WITHIN, rates, segments_per_ack
from ackclock.format import milliseconds, rate
from ackclock.limits import WORDS

_REACHED = 0.3
"""Share of time: a longer standing queue shows that the path's rate is reached."""
_HOSTS = ("application", "receive_window", "send_buffer")
"""Limits by the hosts: in their time losses hardly matter."""
_HOST_LIMITED = 0.5
"""Share of time of such a limit above which a rate near a model's is not due to the losses."""
_NEAR = 1.3
"""Factor within which a rate is near a model's: the error of such a model for known losses."""
_COUNTS = 1.2
"""Above this number of segments per ACK, a sender that counts ACKs grows slower than one that
counts segments.
"""


def rate_models(context: FlowContext, times: float = 1.0) -> dict[str, float]:
    """The models' rates with the sender's RTT, in bit/s; empty below three loss events and where
    the capture does not show that RTT. `times` multiplies the losses.
    """
    return rates(context, context.figures["rtt_ms"], times) if context.pace_seen else {}


def finding(context: FlowContext) -> Finding | None:
    """The models beside the rate, and their rates with fewer losses."""
    if not (models_bps := rate_models(context)):
        return None
    measured = float(context.figures["goodput_bps"] or 0.0)
    counted = (
        f", or {rate(models_bps['counted_bps'])} if it counts segments instead of ACKs, as Linux does,"
        if segments_per_ack(context) > _COUNTS
        else ""
    )
    evidence = (
        f"With {context.loss_events} loss events in {context.figures['segments']} segments and a "
        f"mean RTT of {milliseconds(context.figures['rtt_ms']['mean'])}, Reno would get "
        f"{rate(models_bps['padhye_bps'])} (Padhye's model; {rate(models_bps['mathis_bps'])} by the "
        f"square-root formula){counted} and CUBIC {rate(models_bps['cubic_bps'])}; measured: "
        f"{rate(measured)}."
    )
    return Finding(context.direction, "models", evidence, advice=_what_losses_allow(context, models_bps, measured))


def _what_losses_allow(context: FlowContext, models_bps: dict[str, float], measured: float) -> str:
    """The conclusion from the models and the rate."""
    reno, cubic = models_bps[_nearer(models_bps, measured)], models_bps["cubic_bps"]
    queued, repaired = context.limited_share("path_rate"), context.limited_share("recovery")
    if queued > _REACHED and repaired > queued:
        return f"Both matter: a queue stood {share(queued)} of the time, and loss recovery took {share(repaired)}."
    if queued > _REACHED or context.has_path_rate:
        limit = "The queue of the ACKs" if acks.ack_queue_dominates(context) else "The path's rate"
        return f"{limit} limits this flow: fewer losses would hardly make it faster."
    if measured > WITHIN * max(reno, cubic):
        return "The sender does not respond to losses as Reno or CUBIC do, or losses do not limit its rate."
    if measured * WITHIN < min(reno, cubic):
        shares = limit_shares.of(context)
        maximum = max((by for by in shares if by != "recovery"), key=shares.__getitem__)
        return (
            f"These losses alone would allow more: {WORDS[maximum].noun} limited the flow "
            f"{share(shares[maximum])} of the time."
        )
    shares = limit_shares.of(context)
    host = max(_HOSTS, key=lambda by: shares.get(by, 0.0))
    if shares.get(host, 0.0) > _HOST_LIMITED:
        coincidence = (
            ", and the rate is near a model's by coincidence" if _near(measured, reno) or _near(measured, cubic) else ""
        )
        return (
            f"Fewer losses would gain little: {WORDS[host].noun} limited the flow {share(shares[host])} of the time"
            f"{coincidence}."
        )
    return _what_fewer_give(context, models_bps, measured)


def _nearer(models_bps: dict[str, float], measured: float) -> str:
    """The Reno model, counting ACKs or segments, whose rate is nearer to the measured one."""
    return min(("padhye_bps", "counted_bps"), key=lambda key: abs(measured - models_bps[key]))


def _near(measured: float, model: float) -> bool:
    """Whether a rate is a model's within the model's own error."""
    return abs(math.log(measured / model)) <= math.log(_NEAR)


def _what_fewer_give(context: FlowContext, models_bps: dict[str, float], measured: float) -> str:
    """The model nearest to the rate, and the rates for a quarter of the losses: the models' own
    where the rate is near one, else the measured one by the model's increase.
    """
    counts = _nearer(models_bps, measured)
    reno, cubic, fewer = models_bps[counts], models_bps["cubic_bps"], rate_models(context, 0.25)
    is_reno = abs(math.log(measured / reno)) <= abs(math.log(measured / cubic))
    nearest, name = (reno, counts) if is_reno else (cubic, "cubic_bps")
    if not _near(measured, nearest):
        times = fewer[name] / nearest
        whose = "Reno and CUBIC" if reno == cubic else "Reno" if is_reno else "CUBIC"
        return (
            f"{LOSSES_LIMIT}, which is {measured / nearest:.1f} times what {whose} would get: a quarter of them would "
            f"give about {times:.1f} times the rate, {rate(times * measured)}, up to the path's rate."
        )
    minimum, mean = context.figures["rtt_ms"]["min"], context.figures["rtt_ms"]["mean"]
    shorter = (
        f" The RTT matters, too: at its minimum, {milliseconds(minimum)}, Reno would get "
        f"{rate(reno * mean / minimum)} with these losses."
        if is_reno and minimum and mean > 1.5 * minimum
        else ""
    )
    near = "Reno's and CUBIC's alike" if reno == cubic else f"{'Reno' if is_reno else 'CUBIC'}'s"
    gives = [f"{rate(fewer[counts])} with Reno", f"{rate(fewer['cubic_bps'])} with CUBIC"]
    rates = f"{rate(fewer[counts])} with either" if fewer[counts] == fewer["cubic_bps"] else " and ".join(gives)
    return f"{LOSSES_LIMIT}, which is near {near}: a quarter of them would give about {rates}, up to the path's rate.{shorter}"
