"""What the receiver's end shows of the pace: the sender's flight is not seen there, but round trips are, by the echoes of the receiver's stamps."""

from __future__ import annotations

from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, many, share, size
from ackclock.format import milliseconds, rate

SLOW_READER = "Look at the receiving application, not at the network: it does not keep up."
WORTH_SAYING = 0.05
"""Shares of time below this are noise."""
_NEARLY = 0.75
"""Of a limit: from here on it is what was reached, slow start taken in."""
_ECHOES = 5
_EVENTS = 3
_STANDS = 0.25
"""Of the least round trip: what the middle one is above it is a queue."""
_STEADY = 0.25
"""Data that comes in gaps below this share of a round trip comes without pauses of the application."""
_ADVICE = "Capture at the sender as well; both captures together tell delay and loss of each way."


def finding(view: FlowContext) -> Finding:
    """The receive window where it explains the rate, else what can be said from there."""
    return _closed(view) or _one_window_a_round_trip(view) or shrinking_window(view) or _rest(view)


def _closed(view: FlowContext) -> Finding | None:
    held = view.held("receive_window")
    if not view.waits_closed and held < WORTH_SAYING:
        return None
    evidence = f"The receiver closed its window {many(view.figures['zero_windows'], 'time')}"
    evidence += ", and the sender probed it with data waiting" if view.waits_closed else ""
    evidence += (
        f": {share(held)} of the time nothing could be sent ({rate(view.figures['goodput_bps'])} in all)." if held else "."
    )
    return Finding(view.direction, "receive_window", evidence, held or None, SLOW_READER)


def round_trips(view: FlowContext) -> tuple[float, float | None, float | None]:
    """Least, middle and p95 in ms: by echoes of the receiver's stamps, or the handshake's alone; 0 where there is none."""
    echoes = view.other["timestamp_rtt_ms"]
    least = float(view.flow["handshake_rtt_ms"] or 0.0)
    if not view.far or view.place == "middle" or echoes["count"] < _ECHOES:
        return least, None, None
    return min(least or echoes["min"], echoes["min"]), float(echoes["p50"]), float(echoes["p95"])


def _one_window_a_round_trip(view: FlowContext) -> Finding | None:
    window, got = float(view.figures["advertised_window_bytes"]["max"] or 0.0), float(view.figures["goodput_bps"] or 0.0)
    least, middle, _ = round_trips(view)
    rtt, whose = (middle, "the median, by its stamps' echoes") if middle else (least, "the handshake's")
    again = view.figures["retransmitted_segments"]
    capped = window * 8e3 / rtt if rtt else 0.0
    if not capped or view.figures["zero_windows"] or again or not _NEARLY * capped < got < 1.2 * capped:
        return None
    evidence = (
        f"The receive window never exceeded {size(window)}; one window each round trip of {milliseconds(rtt)} ({whose}) is {rate(capped)}, "
        f"and {rate(got)} arrived without a loss: the window is what caps this flow."
    )
    advice = f"Enlarge the receive buffer (SO_RCVBUF, rmem): doubling it to {size(2 * window)} doubles the rate while nothing else limits."
    return Finding(view.direction, "receive_window", evidence, advice=advice)


def shrinking_window(view: FlowContext, held: float | None = None) -> Finding | None:
    """A window that is mostly far below what the receiver has offered at its best, and that explains the rate: an application that reads slowly."""
    window, got = view.figures["advertised_window_bytes"], float(view.figures["goodput_bps"] or 0.0)
    rtt = round_trips(view)[0] or float(view.figures["rtt_ms"]["min"] or 0.0)
    if not window["max"] or not rtt or window["mean"] > 0.5 * window["max"] or window["min"] > 0.25 * window["max"]:
        return None
    # A window that grows with the transfer promises twice what comes in a round trip, or more.
    if not 0.5 < got * rtt / (8e3 * window["mean"]) < 1.2:
        return None
    evidence = (
        f"The receive window, up to {size(window['max'])} wide, was {size(window['mean'])} on average and {size(window['min'])} at least: the application "
        f"there reads more slowly than data could come, {rate(got)} in all."
    )
    return Finding(view.direction, "receive_window", evidence, held, SLOW_READER)


def _rest(view: FlowContext) -> Finding:
    got, again = float(view.figures["goodput_bps"] or 0.0), view.figures["retransmitted_segments"]
    repairs = view.figures["repairs"]
    lost = f"{many(again, 'segment')} sent again" if again else "nothing sent again"
    if again and repairs["lost_upstream"]:
        lost += f" ({many(repairs['lost_upstream'], 'hole')} in what came, {many(view.loss_events, 'loss event')})"
    evidence = f"{rate(got)} arrived, {lost}. {_seen_by_echoes(view, got)}"
    return Finding(
        view.direction,
        "far_end",
        evidence + "Which limit held the sender is not to be seen: the capture is not at its end.",
        advice=_ADVICE,
    )


def _seen_by_echoes(view: FlowContext, got: float) -> str:
    """Round trips, what is in flight, and whether a queue stood."""
    least, middle, high = round_trips(view)
    if middle is None or high is None:
        return ""
    flight = got * middle / 8e3
    told = f"By the echoes of the receiver's stamps a round trip took {milliseconds(least)} at least, {milliseconds(middle)} in the median (p95 {milliseconds(high)})"
    gaps = view.figures["ack_interarrival_ms"]
    window = float(view.figures["advertised_window_bytes"]["max"] or 0.0)
    if middle - least > max(5.0, _STANDS * least) and (gaps["p95"] or 0.0) < _STEADY * middle:
        queue = middle - least
        return f"{told}: half of the time {milliseconds(queue)} or more of queue, about {size(got * queue / 8e3)} of this flow, on the data's way or the ACKs'. "
    if middle - least < 0.1 * least + 1.0 and not view.figures["retransmitted_segments"] and window > 1.5 * flight:
        return (
            f"{told}, so no queue stood: about {size(flight)} in flight with a receive window of {size(window)} and no loss. "
            "The sender holds back: its send buffer, its application, pacing, or a window that still grows. "
        )
    if middle - least < 0.1 * least + 1.0 and view.loss_events >= _EVENTS:
        return f"{told}: hardly any queue stood, so losses that no full queue makes keep the window small, or the sender does. "
    return f"{told}. "
