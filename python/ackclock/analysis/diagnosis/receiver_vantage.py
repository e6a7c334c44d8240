"""Findings from a capture at the receiver, which does not see the sender's flight but estimates
RTTs by echoed timestamps (TSecr).
"""

from __future__ import annotations

from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, many, share, size
from ackclock.format import milliseconds, rate

SLOW_READER = "Examine the receiving application, not the network: it reads too slowly."
MIN_SHARE = 0.05
"""Shares of time below this are noise."""
_NEARLY = 0.75
"""A rate above this share of a limit reaches the limit, slow start included."""
_ECHOES = 5
_EVENTS = 3
_STANDS = 0.25
"""A median RTT above the minimum by this share of it has a queue."""
_STEADY = 0.25
"""Data with gaps below this share of an RTT arrives without pauses of the application."""
_ADVICE = "Capture at the sender, too: two captures measure delay and loss of each direction."


def finding(context: FlowContext) -> Finding:
    """The receive window if it explains the rate, else the other figures of this vantage point."""
    return _closed(context) or _one_window_a_round_trip(context) or shrinking_window(context) or _rest(context)


def _closed(context: FlowContext) -> Finding | None:
    share_of_time = context.limited_share("receive_window")
    if not context.waits_closed and share_of_time < MIN_SHARE:
        return None
    evidence = f"The receiver closed its window {many(context.figures['zero_windows'], 'time')}"
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
        or not _NEARLY * capped < goodput_bps < 1.2 * capped
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
    if not window["max"] or not rtt or window["mean"] > 0.5 * window["max"]:
        return None
    if (share_of_time or 0.0) < 0.5 and window["min"] > 0.25 * window["max"]:
        return None
    # A growing window (auto-tuning) is at least twice the data of an RTT.
    if not 0.5 < goodput_bps * rtt / (8e3 * window["mean"]) < 1.2:
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
    evidence = f"{rate(goodput_bps)} arrived, {lost}. {_seen_by_echoes(context, goodput_bps)}"
    return Finding(
        context.direction,
        "far_end",
        evidence + "The sender's limit is not visible: the capture is not at its end.",
        advice=_ADVICE,
    )


def _seen_by_echoes(context: FlowContext, goodput_bps: float) -> str:
    """RTT, bytes in flight, and whether a queue stood."""
    minimum, median, high = round_trips(context)
    if median is None or high is None:
        return ""
    flight = goodput_bps * median / 8e3
    rtt_text = (
        f"By echoed timestamps the RTT was at least {milliseconds(minimum)}, {milliseconds(median)} "
        f"in the median (p95 {milliseconds(high)})"
    )
    gaps = context.figures["ack_interarrival_ms"]
    window = float(context.figures["advertised_window_bytes"]["max"] or 0.0)
    if median - minimum > max(5.0, _STANDS * minimum) and (gaps["p95"] or 0.0) < _STEADY * median:
        queue = median - minimum
        return (
            f"{rtt_text}: half of the time {milliseconds(queue)} or more of queue, about "
            f"{size(goodput_bps * queue / 8e3)} of this flow, in the direction of the data or of "
            "the ACKs. "
        )
    if (
        median - minimum < 0.1 * minimum + 1.0
        and not context.figures["retransmitted_segments"]
        and window > 1.5 * flight
    ):
        return (
            f"{rtt_text}, so no queue stood: about {size(flight)} in flight with a receive window "
            f"of {size(window)} and no loss. The sender limits itself: its send buffer, its "
            "application, pacing, or a window that still grows. "
        )
    if median - minimum < 0.1 * minimum + 1.0 and context.loss_events >= _EVENTS:
        return (
            f"{rtt_text}: hardly any queue stood, so losses other than overflow keep the window "
            "small, or the sender does. "
        )
    return f"{rtt_text}. "
