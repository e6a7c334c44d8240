"""Findings from a capture at the receiver, which does not see the sender's flight but estimates
RTTs by echoed timestamps (TSecr).
"""

from __future__ import annotations

from ackclock.analysis.diagnosis.flow_context import NEARLY, Finding, FlowContext, many, share, size
from ackclock.analysis.diagnosis.loss_response import EVENTS, LOSSES_LIMIT, rates
from ackclock.format import milliseconds, rate

SLOW_READER = "Examine the receiving application, not the network: it reads too slowly."
MIN_SHARE = 0.05
"""Shares of time below this are noise."""
_CLOSED = 0.25
"""Part of the time limited by the receive window from which a window of zero is the reader's: data
that fills a small window closes it for a moment, until the reader has taken it.
"""
_ECHOES = 5
_STANDS = 0.25
"""A median RTT above the minimum by this share of it has a queue."""
_STEADY = 0.25
"""Data with gaps below this share of an RTT arrives without pauses of the application."""
SENDER_LIMITS = "Examine the sending host: its send buffer (SO_SNDBUF, wmem), its program, or its pacing."
_LONG = 100.0
"""Duration in minimum RTTs after which a window that no loss reduced has grown to the path's rate,
unless the sender limits itself: slow start doubles it each RTT, HyStart adds a segment or more.
"""
_PAUSES = 0.2
"""Share of time in which the programs wait above which losses do not explain the rate."""
_NEAR = 1.5
"""Factor by which the measured rate and a model's differ where the losses explain the rate."""
_CAPPED = 0.8
"""A model's rate with the receive window below this share of that without it is the window's."""
_ADVICE = "Capture at the sender, too: two captures measure delay and loss of each direction."


def is_closed_by_reader(context: FlowContext, share_of_time: float) -> bool:
    """Whether the reader, not a small buffer, closed the window: the sender probed it with data
    waiting, or it was closed for a quarter of the time that the receive window limited
    (`share_of_time`).
    """
    if not context.figures["zero_windows"]:
        return False
    return context.waits_closed or context.closed_share >= _CLOSED * share_of_time


def finding(context: FlowContext) -> Finding:
    """The receive window if it explains the rate, else the other figures of this vantage point."""
    rules = (_closed, _one_window_a_round_trip, shrinking_window, _window_between_losses)
    return next((found for rule in rules if (found := rule(context)) is not None), None) or _rest(context)


def _closed(context: FlowContext) -> Finding | None:
    share_of_time = context.limited_share("receive_window")
    if not context.waits_closed and share_of_time < MIN_SHARE:
        return None
    zero = context.figures["zero_windows"]
    evidence = (
        f"The receiver closed its window {many(zero, 'time')}"
        if zero
        else "The receive window had no room for a segment"
    )
    evidence += ", and the sender probed it with data waiting" if context.waits_closed else ""
    evidence += (
        f": {share(share_of_time)} of the time nothing could be sent ({rate(context.figures['goodput_bps'])} in all)."
        if share_of_time
        else "."
    )
    return Finding(context.direction, "receive_window", evidence, share_of_time or None, SLOW_READER)


def round_trips(context: FlowContext) -> tuple[float, float | None, float | None]:
    """Minimum, median and p95 RTT in ms, from echoed timestamps or from the handshake alone; 0 for
    an unknown minimum.
    """
    echoes = context.other["timestamp_rtt_ms"]
    minimum = float(context.flow["handshake_rtt_ms"] or 0.0)
    if not context.far or context.place == "middle" or echoes["count"] < _ECHOES:
        return minimum, None, None
    return min(minimum or echoes["min"], echoes["min"]), float(echoes["p50"]), float(echoes["p95"])


def _one_window_a_round_trip(context: FlowContext) -> Finding | None:
    window, goodput_bps = (
        float(context.figures["advertised_window_bytes"]["max"] or 0.0),
        float(context.figures["goodput_bps"] or 0.0),
    )
    minimum, median, _ = round_trips(context)
    rtt, origin = (median, "the median, by echoed timestamps") if median else (minimum, "the handshake's")
    retransmitted = context.figures["retransmitted_segments"]
    capped = window * 8e3 / rtt if rtt else 0.0
    if (
        not capped
        or context.figures["zero_windows"]
        or retransmitted
        or not NEARLY * capped < goodput_bps < 1.2 * capped
    ):
        return None
    evidence = (
        f"The receive window never exceeded {size(window)}; one window per RTT of "
        f"{milliseconds(rtt)} ({origin}) is {rate(capped)}, and {rate(goodput_bps)} arrived without "
        "loss: the receive window limits this flow."
    )
    advice = (
        f"Enlarge the receive buffer (SO_RCVBUF, rmem): doubling it to {size(2 * window)} doubles "
        "the rate while nothing else limits."
    )
    return Finding(context.direction, "receive_window", evidence, advice=advice)


def shrinking_window(context: FlowContext, share_of_time: float | None = None) -> Finding | None:
    """A window that is mostly far below its maximum and that explains the rate: the application
    reads slowly.

    A capture at the sender shows for which share of the time the window has no room. If that is
    most of the time, the sender fills the small window; otherwise it must have been much smaller.
    """
    window, goodput_bps = context.figures["advertised_window_bytes"], float(context.figures["goodput_bps"] or 0.0)
    rtt = round_trips(context)[0] or float(context.figures["rtt_ms"]["min"] or 0.0)
    if not window["max"] or not window["mean"] or not rtt or window["mean"] > 0.5 * window["max"]:
        return None
    if (share_of_time or 0.0) < 0.5 and window["min"] > 0.25 * window["max"]:
        return None
    # A growing window (auto-tuning) is at least twice the data of an RTT, and seldom filled. A
    # window below a segment delays the sender beyond the path's RTT.
    filled, part = (share_of_time or 0.0) >= 0.5, goodput_bps * rtt / (8e3 * window["mean"])
    if part >= 1.2 or (part <= 0.5 and not filled):
        return None
    evidence = (
        f"The receive window, at most {size(window['max'])}, was {size(window['mean'])} on average "
        f"and at least {size(window['min'])}: the application there reads more slowly than data "
        f"could arrive, {rate(goodput_bps)} in all."
    )
    return Finding(context.direction, "receive_window", evidence, share_of_time, SLOW_READER)


def _rest(context: FlowContext) -> Finding:
    goodput_bps, retransmitted = float(context.figures["goodput_bps"] or 0.0), context.figures["retransmitted_segments"]
    repairs = context.figures["repairs"]
    lost = f"{many(retransmitted, 'segment')} retransmitted" if retransmitted else "nothing retransmitted"
    if retransmitted and repairs["lost_upstream"]:
        lost += (
            f" ({many(repairs['lost_upstream'], 'hole')} in the received data, "
            f"{many(context.loss_events, 'loss event')})"
        )
    queue_ms, by_losses = _standing_queue_ms(context), _response_to_losses(context)
    evidence = f"{rate(goodput_bps)} arrived, {lost}. {_seen_by_echoes(context, goodput_bps, queue_ms)}"
    advice = _ADVICE
    if by_losses is not None:
        evidence += by_losses[0]
        advice = f"{by_losses[1]} {_ADVICE}"
    elif _limits_itself(context) and _is_long(context) and not _pauses(context):
        advice = f"{SENDER_LIMITS} {_ADVICE}"
    return Finding(
        context.direction,
        "far_end",
        evidence + "The sender's limit is not visible: the capture is not at its end.",
        # The queue is at least this long half of the time: by the median.
        0.5 if queue_ms else None,
        advice,
    )


def _standing_queue_ms(context: FlowContext) -> float:
    """The median queueing delay in ms; 0 without a queue, and where data comes with pauses."""
    minimum, median, _ = round_trips(context)
    gaps = context.figures["ack_interarrival_ms"]
    if median is None or median - minimum <= max(5.0, _STANDS * minimum) or (gaps["p95"] or 0.0) >= _STEADY * median:
        return 0.0
    return median - minimum


def _response_to_losses(context: FlowContext) -> tuple[str, str] | None:
    """The models' rates beside the measured one, and what follows, where losses without a queue can
    explain the rate: neither the path's rate nor the programs' pauses do.
    """
    if not _has_losses_alone(context) or not (models_bps := _near_models(context)):
        return None
    reno, cubic = models_bps["counted_bps"], models_bps["cubic_bps"]
    by = (
        f"Reno would get {rate(reno)} and CUBIC {rate(cubic)}"
        if cubic > reno
        else f"either of Reno and CUBIC would get {rate(reno)}"
    )
    fewer = rates(context, context.other["timestamp_rtt_ms"], 0.25)["counted_bps"]
    return (
        f"With {many(context.loss_events, 'loss event')} in {context.figures['segments']} segments and this RTT {by}. ",
        f"{LOSSES_LIMIT}, if the sender is one of these: a quarter of them would give about {rate(fewer)} with Reno, up to "
        "the path's rate.",
    )


def _window_between_losses(context: FlowContext) -> Finding | None:
    """The receive window where Reno's window with these losses alone would exceed it."""
    if not _has_losses_alone(context) or not (models_bps := _near_models(context)):
        return None
    unlimited = rates(context, context.other["timestamp_rtt_ms"], has_window=False)["counted_bps"]
    if models_bps["counted_bps"] > _CAPPED * unlimited:
        return None
    window = float(context.figures["advertised_window_bytes"]["max"])
    evidence = (
        f"The receive window never exceeded {size(window)}. With it and with {many(context.loss_events, 'loss event')} in "
        f"{context.figures['segments']} segments Reno would get {rate(models_bps['counted_bps'])}, without the window's "
        f"limit {rate(unlimited)}; measured: {rate(context.figures['goodput_bps'])}: the receive window limits this flow "
        "between its losses."
    )
    return Finding(
        context.direction, "receive_window", evidence, advice="Enlarge the receive buffer (SO_RCVBUF, rmem)."
    )


def _has_losses_alone(context: FlowContext) -> bool:
    minimum, median, _ = round_trips(context)
    has_queue = median is None or median - minimum >= 0.1 * minimum + 1.0
    return not has_queue and not context.has_path_rate and not _pauses(context)


def _near_models(context: FlowContext) -> dict[str, float]:
    """The models' rates, if the measured one is near them; else empty."""
    models_bps, measured = (
        rates(context, context.other["timestamp_rtt_ms"]),
        float(context.figures["goodput_bps"] or 0.0),
    )
    near = models_bps and models_bps["padhye_bps"] / _NEAR < measured < _NEAR * models_bps["cubic_bps"]
    return models_bps if near else {}


def _limits_itself(context: FlowContext) -> bool:
    """Whether the sender stops below the receive window without a loss, a queue, or the path's
    rate.
    """
    minimum, median, _ = round_trips(context)
    flight = float(context.figures["goodput_bps"] or 0.0) * (median or 0.0) / 8e3
    return (
        median is not None
        and median - minimum < 0.1 * minimum + 1.0
        and not context.figures["retransmitted_segments"]
        and float(context.figures["advertised_window_bytes"]["max"] or 0.0) > 1.5 * flight
        and not context.has_path_rate
    )


def _is_long(context: FlowContext) -> bool:
    """Whether a congestion window without losses has had the time to grow to any size."""
    return float(context.flow["duration_s"]) * 1e3 > _LONG * round_trips(context)[0]


def _pauses(context: FlowContext) -> bool:
    lasted = float(context.flow["duration_s"])
    thought = sum(float(context.flow[direction]["think_time"]["total_s"]) for direction in ("a2b", "b2a"))
    return thought > _PAUSES * lasted


def _seen_by_echoes(context: FlowContext, goodput_bps: float, queue_ms: float) -> str:
    """RTT, bytes in flight, and whether a queue stood."""
    minimum, median, high = round_trips(context)
    if median is None or high is None:
        return ""
    flight = goodput_bps * median / 8e3
    rtt_text = (
        f"By echoed timestamps the RTT was at least {milliseconds(minimum)}, {milliseconds(median)} "
        f"in the median (p95 {milliseconds(high)})"
    )
    window = float(context.figures["advertised_window_bytes"]["max"] or 0.0)
    if queue_ms:
        return (
            f"{rtt_text}: half of the time {milliseconds(queue_ms)} or more of queue, about "
            f"{size(goodput_bps * queue_ms / 8e3)} of this flow, in the direction of the data or of "
            "the ACKs. "
        )
    if _limits_itself(context):
        grows = "" if _is_long(context) else ", or a window that still grows"
        return (
            f"{rtt_text}, so no queue stood: about {size(flight)} in flight with a receive window "
            f"of {size(window)} and no loss. The sender limits itself: its send buffer, its "
            f"application, or pacing{grows}. "
        )
    if median - minimum < 0.1 * minimum + 1.0 and context.loss_events >= EVENTS:
        return (
            f"{rtt_text}: hardly any queue stood, so losses other than overflow keep the window "
            "small, or the sender does. "
        )
    return f"{rtt_text}. "
