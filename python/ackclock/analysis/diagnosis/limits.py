"""What set the pace: windows, buffers, the path, the application, repair."""

from __future__ import annotations

from collections.abc import Iterator

from ackclock.analysis.diagnosis import acks, loss
from ackclock.analysis.diagnosis.view import Finding, View, many, share, size
from ackclock.report.numbers import milliseconds, rate

WORTH_SAYING = 0.05
"""Shares of time below this are noise."""
_MATTERS = 0.2
_DEEP = 1.0
"""Round trips of queue above which less buffer would do."""
_NEARLY = 0.75
"""Of a limit: from here on it is what was reached, slow start taken in."""
_SLOW_READER = "Look at the receiving application, not at the network: it does not keep up."


def findings(view: View) -> Iterator[Finding]:
    """Each limit that held the sender for long enough to speak of."""
    if not view.pace_seen:
        yield _far_end(view)
        return
    for by, rule in _RULES.items():
        held = view.held(by)
        if held >= WORTH_SAYING:
            yield rule(view, held)


def _far_end(view: View) -> Finding:
    """What can be said of the pace where the sender's flight is not seen: whether one window a round trip explains it."""
    window, got = float(view.figures["advertised_window_bytes"]["max"] or 0.0), float(view.figures["goodput_bps"] or 0.0)
    rtt = float(view.flow["handshake_rtt_ms"] or 0.0)
    again = view.figures["retransmitted_segments"]
    capped = window * 8e3 / rtt if rtt else 0.0
    if capped and not view.figures["zero_windows"] and not again and _NEARLY * capped < got < 1.2 * capped:
        evidence = (
            f"The receive window never exceeded {size(window)}; one window each round trip of {milliseconds(rtt)} (the handshake's) is {rate(capped)}, "
            f"and {rate(got)} arrived without a loss: the window is what caps this flow."
        )
        advice = f"Enlarge the receive buffer (SO_RCVBUF, rmem): doubling it to {size(2 * window)} doubles the rate while nothing else limits."
        return Finding(view.direction, "receive_window", evidence, advice=advice)
    lost = f"{many(again, 'segment')} sent again" if again else "nothing sent again"
    if view.waits_closed:
        evidence = f"The receiver closed its window {many(view.figures['zero_windows'], 'time')}, and the sender probed it with data waiting."
        return Finding(view.direction, "receive_window", evidence, advice=_SLOW_READER)
    evidence = f"{rate(got)} arrived, {lost}. What held the sender is not to be seen here: the capture is not at its end."
    advice = "Capture at the sender as well; both captures together tell delay and loss of each way."
    return Finding(view.direction, "far_end", evidence, advice=advice)


def _rtt(view: View) -> float:
    """The path's round trip in ms, without queues; 0 where it is not known."""
    return float(view.figures["rtt_ms"]["min"] or 0.0)


def _window_rate(bytes_: float, rtt_ms: float) -> str:
    return rate(bytes_ * 8e3 / rtt_ms) if rtt_ms else "-"


def _fills(view: View, capped: float) -> str:
    """How large a buffer fills the path, where its rate is known, else what doubling does."""
    rtt, speed = _rtt(view), path_bps(view)
    flight = float(view.figures["outstanding_bytes"]["max"])
    if speed and rtt and speed > 1.2 * capped:
        return f"about {size(1.25 * speed * rtt / 8e3)} would fill the path, whose rate looks like {rate(speed)}"
    return f"doubling it to {size(2 * flight)} doubles the rate for as long as the RTT stays at {milliseconds(rtt)}"


def path_bps(view: View) -> float | None:
    """The bottleneck's rate through a standing queue, where two captures show one."""
    found = (view.crossing.get("bottleneck_buffer_bytes") or {}).get("rate_bps")
    return float(found) if found else None


def _send_buffer(view: View, held: float) -> Finding:
    flight, window = view.figures["outstanding_bytes"]["max"], view.figures["advertised_window_bytes"]["max"]
    capped = float(view.figures["goodput_bps"] or 0.0)
    evidence = (
        f"About {size(flight)} in flight, never more, with the receive window at {size(window)} and no loss: a send buffer (inferred, "
        f"not on the wire) caps this flow at {_window_rate(flight, float(view.figures['rtt_ms']['p50'] or _rtt(view)))}."
    )
    return Finding(
        view.direction, "send_buffer", evidence, held, f"Enlarge the send buffer (SO_SNDBUF, wmem): {_fills(view, capped)}."
    )


def _receive_window(view: View, held: float) -> Finding:
    window = view.figures["advertised_window_bytes"]["max"] or 0
    zero = view.figures["zero_windows"]
    rtt = float(view.figures["rtt_ms"]["p50"] or _rtt(view))
    if zero:
        evidence = (
            f"The receiver closed its window {many(zero, 'time')} and held the sender {share(held)} of the time: the application there reads "
            f"more slowly than data arrives ({rate(view.figures['goodput_bps'])} in all)."
            + (" The sender probed the closed window, so it had data waiting." if view.waits_closed else "")
        )
        return Finding(
            view.direction,
            "receive_window",
            evidence,
            held,
            _SLOW_READER,
        )
    evidence = (
        f"The receive window, {size(window)} at most, was full {share(held)} of the time: one window each round trip of {milliseconds(rtt)} "
        f"is {_window_rate(window, rtt)}."
    )
    scaling = (
        "" if view.flow["handshake"]["window_scaling"] else " Window scaling was not agreed on, so no window can pass 64 KB."
    )
    capped = float(view.figures["goodput_bps"] or 0.0)
    advice = f"Enlarge the receive buffer (SO_RCVBUF, rmem): {_fills(view, capped)}."
    if view.held("path_rate") + view.held("recovery") > held or _queue_ms(view) > 0.5 * _rtt(view):
        advice = "A larger one would only lengthen the queue: the path's rate is reached."
    return Finding(view.direction, "receive_window", evidence + scaling, held, advice)


def _queue_ms(view: View) -> float:
    rtt = view.figures["rtt_ms"]
    return float((rtt["p95"] or 0.0) - (rtt["min"] or 0.0))


def _path_rate(view: View, held: float) -> Finding:
    if acks.acks_wait_most(view):
        return _way_back(view, held)
    queue, known, rtt = _queue_ms(view), path_bps(view), _rtt(view)
    speed = known or float(view.figures["throughput_bps"] or 0.0)
    stood = f"the RTT stood up to {milliseconds(queue)} above its least of {milliseconds(rtt)} (p95)"
    there = acks.excess(view.crossing, "p95")
    pace = (
        f"The path's rate, about {rate(speed)}," if known else f"A queue on the path, through which this flow got {rate(speed)},"
    )
    if there is None:
        where = f"{size(queue * speed / 8e3)} of this flow waiting, on the data's way or as ACKs on the way back: a second capture tells which"
    else:
        queue, back = there, acks.excess(view.back, "p95") or 0.0
        where = f"{milliseconds(there)} of queue on the data's way, {size(there * speed / 8e3)} at the bottleneck, {milliseconds(back)} on the ACKs' (p95 each)"
    evidence = f"{pace} set the pace {share(held)} of the time; {stood}, {where}."
    full = known and float(view.figures["throughput_bps"] or 0.0) > _NEARLY * known
    advice = "The path is full: hardly anything but a faster bottleneck makes this flow faster." if full else ""
    if queue > max(50.0, _DEEP * rtt):
        # A flow's own rate is not the path's where others share it.
        fills = f"One round trip of buffer, {size(known * rtt / 8e3)}, fills this path. " if known else ""
        advice = (
            f"{fills}A queue that manages itself (CoDel, FQ-CoDel, PIE) or a "
            f"smaller buffer takes most of the {milliseconds(queue)} away and costs hardly any rate."
        )
    return Finding(view.direction, "path_rate", evidence, held, advice)


def _way_back(view: View, held: float) -> Finding:
    """The queue that the round trip shows is the ACKs', not the data's."""
    figure = acks.typical(view)
    there, back = acks.excess(view.crossing, figure) or 0.0, acks.excess(view.back, figure) or 0.0
    evidence = (
        f"The RTT stood up to {milliseconds(_queue_ms(view))} above its least of {milliseconds(_rtt(view))} (p95) {share(held)} of the time. ACKs wait "
        f"{milliseconds(back)} in a queue on their way, the data {milliseconds(there)} on theirs ({'medians' if figure == 'p50' else figure})."
    )
    return Finding(view.direction, "ack_path", evidence, held, acks.relief(view))


def _cwnd(view: View, held: float) -> Finding:
    flight, segment = float(view.figures["outstanding_bytes"]["max"]), view.segment
    mean = float(view.figures["outstanding_bytes"]["mean"] or 0.0)
    evidence = (
        f"The congestion window (or pacing) held the sender {share(held)} of the time while the RTT was near its least of "
        f"{milliseconds(_rtt(view))}: {size(mean)}, {mean / segment:.0f} segments, in flight on average, {size(flight)} at most."
    )
    events, speed = view.loss_events, path_bps(view)
    got = float(view.figures["throughput_bps"] or 0.0)
    if speed and got > _NEARLY * speed:
        advice = f"With {rate(got)} of the path's {rate(speed)} there is little to gain: the sender keeps the queue short."
    elif events >= loss.EVENTS and view.figures["retransmitted_segments"]:
        kept = f"{many(events, 'loss event')} kept the window small although no queue stood"
        advice = (
            f"{kept}: find where packets are lost, or use a congestion control that does not take each loss for congestion (BBR)."
        )
    elif view.figures["unique_bytes"] < 64 * segment:
        advice = (
            "The transfer was over within slow start: a larger initial window, or connections that are kept and used again, help."
        )
    else:
        few = f"{many(events, 'loss event')} did not hold it back for long" if events else "no loss held it back"
        advice = f"The window was still growing, or the sender paces itself; {few}."
    return Finding(view.direction, "cwnd", evidence, held, advice)


def _application(view: View, held: float) -> Finding:
    evidence = f"The sending application had nothing to send {share(held)} of the time."
    advice = "Nothing on the path or in TCP would make this flow faster." if held > 0.5 else ""
    return Finding(view.direction, "application", evidence, held, advice)


def _recovery(view: View, held: float) -> Finding:
    repairs, again = view.figures["repairs"], view.figures["retransmitted_segments"]
    timeouts = repairs["timeouts"]
    evidence = (
        f"{share(held)} of the time went by in repairing losses: {many(again, 'segment')} sent again in "
        f"{many(repairs['recoveries'], 'fast recovery').replace('recoverys', 'recoveries')} and {many(timeouts, 'timeout') if timeouts else 'no timeout'}."
    )
    advice = ""
    if not view.flow["handshake"]["sack"]:
        advice = "SACK was not agreed on: with it several losses of one window are repaired in one round trip."
    elif timeouts and held >= _MATTERS:
        advice = "Timeouts cost most: tail-loss probes and RACK (RFC 8985) at the sender replace many of them."
    return Finding(view.direction, "recovery", evidence, held, advice)


_RULES = {
    "receive_window": _receive_window,
    "send_buffer": _send_buffer,
    "path_rate": _path_rate,
    "cwnd": _cwnd,
    "application": _application,
    "recovery": _recovery,
}
