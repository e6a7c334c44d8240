"""What set the pace: windows, buffers, the path, the application, repair."""

from __future__ import annotations

from collections.abc import Iterator

from ackclock.analysis.diagnosis import acks, loss_models, receiver_vantage, recovery_time
from ackclock.analysis.diagnosis.flow_context import Finding, FlowContext, many, share, size, waiting
from ackclock.analysis.diagnosis.receiver_vantage import SLOW_READER, WORTH_SAYING
from ackclock.format import milliseconds, rate

_MATTERS = 0.2
_QUEUED = 0.2
"""Of the time: from here on a flow is seen to reach its path's rate."""
_LENGTHENED = 1.5
"""Of the least round trip: a middle one above it has a queue in it."""
_DEEP = 1.0
"""Round trips of queue above which less buffer would do."""
_NEARLY = 0.75
"""Of a limit: from here on it is what was reached, slow start taken in."""
_FULL = 0.9
"""Of the receive window: what is in flight on average is short of it by the last segment that does not fit, or an ACK on its way."""


def findings(view: FlowContext) -> Iterator[Finding]:
    """Each limit that held the sender for long enough to speak of."""
    if not view.pace_seen:
        yield receiver_vantage.finding(view)
        return
    for by, rule in _RULES.items():
        held = view.held(by)
        # After its last data a sender waits for the ACKs of it, which is nobody's fault.
        if held - (_tail(view) if by == "application" else 0.0) >= WORTH_SAYING:
            yield rule(view, held)


def _tail(view: FlowContext) -> float:
    """The share of the direction's time from its last data on."""
    lasted = 1e3 * float(view.flow["duration_s"]) - float(view.figures["first_data_ms"] or 0.0)
    return float(view.figures["tail_ms"] or 0.0) / lasted if lasted > 0.0 else 0.0


def _rtt(view: FlowContext) -> float:
    """The path's round trip in ms, without queues; 0 where it is not known."""
    return float(view.figures["rtt_ms"]["min"] or 0.0)


def _window_rate(bytes_: float, rtt_ms: float) -> str:
    return rate(bytes_ * 8e3 / rtt_ms) if rtt_ms else "-"


def _fills(view: FlowContext, capped: float) -> str:
    """How large a buffer fills the path, where its rate is known, else what doubling does."""
    rtt, speed = _rtt(view), path_bps(view)
    flight = float(view.figures["outstanding_bytes"]["max"])
    if speed and rtt and speed > 1.2 * capped:
        return f"about {size(1.25 * speed * rtt / 8e3)} would fill the path, whose rate looks like {rate(speed)}"
    return f"doubling it to {size(2 * flight)} doubles the rate for as long as the RTT stays at {milliseconds(rtt)}"


def path_bps(view: FlowContext) -> float | None:
    """The bottleneck's rate through a standing queue, where two captures show one."""
    found = (view.crossing.get("bottleneck_buffer_bytes") or {}).get("rate_bps")
    return float(found) if found else None


def _send_buffer(view: FlowContext, held: float) -> Finding:
    flight, window = view.figures["outstanding_bytes"]["max"], view.figures["advertised_window_bytes"]["max"]
    capped = float(view.figures["goodput_bps"] or 0.0)
    evidence = (
        f"About {size(flight)} in flight, never more, with the receive window at {size(window)} and no loss: a send buffer (inferred, "
        f"not on the wire) caps this flow at {_window_rate(flight, float(view.figures['rtt_ms']['p50'] or _rtt(view)))}."
    )
    advice = f"Enlarge the send buffer (SO_SNDBUF, wmem): {_fills(view, capped)}."
    speed, least = path_bps(view), _rtt(view)
    if (speed and flight >= speed * least / 8e3) or float(view.figures["rtt_ms"]["p50"] or 0.0) > _LENGTHENED * least:
        advice = "It holds what the path does: a larger one would only lengthen the queue."
    return Finding(view.direction, "send_buffer", evidence, held, advice)


def _receive_window(view: FlowContext, held: float) -> Finding:
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
            SLOW_READER,
        )
    if slow := receiver_vantage.shrinking_window(view, held):
        return slow
    evidence = (
        f"The receive window, {size(window)} at most, was full {share(held)} of the time: one window each round trip of {milliseconds(rtt)} "
        f"is {_window_rate(window, rtt)}."
    )
    scaling = (
        "" if view.flow["handshake"]["window_scaling"] else " Window scaling was not agreed on, so no window can pass 64 KB."
    )
    capped = float(view.figures["goodput_bps"] or 0.0)
    advice = f"Enlarge the receive buffer (SO_RCVBUF, rmem): {_fills(view, capped)}."
    # By the middle round trip: ACKs that were delayed make the longest ones, not a queue.
    if view.held("path_rate") + view.held("recovery") > held or rtt > _LENGTHENED * _rtt(view):
        advice = "A larger one would only lengthen the queue: the path's rate is reached."
    return Finding(view.direction, "receive_window", evidence + scaling, held, advice)


def _queue_ms(view: FlowContext) -> float:
    rtt = view.figures["rtt_ms"]
    return float((rtt["p95"] or 0.0) - (rtt["min"] or 0.0))


def _path_rate(view: FlowContext, held: float) -> Finding:
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
        # What is in flight is what travels and what waits (Little), so no more than that part of it waits.
        part = min(queue * speed / 8e3, float(view.figures["outstanding_bytes"]["max"]) * queue / (queue + rtt))
        where = (
            f"up to {size(part)} of this flow waiting, on the data's way or as ACKs on the way back: a second capture tells which"
        )
    else:
        queue, back = there, acks.excess(view.back, "p95") or 0.0
        where = f"{waiting(there)} of queue on the data's way, {size(there * speed / 8e3)} at the bottleneck, {waiting(back)} on the ACKs' (p95 each)"
    evidence = f"{pace} set the pace {share(held)} of the time; {stood}, {where}."
    full = known and float(view.figures["throughput_bps"] or 0.0) > _NEARLY * known
    advice = "The path is full: hardly anything but a faster bottleneck makes this flow faster." if full else ""
    if full and acks.wait_at_times(view):
        advice = (
            "Where data waits the path is full: hardly anything but a faster bottleneck makes this flow faster there. Where ACKs wait, their way "
            "set the pace."
        )
    if queue > max(50.0, _DEEP * rtt):
        # A flow's own rate is not the path's where others share it.
        fills = f"One round trip of buffer, {size(known * rtt / 8e3)}, fills this path. " if known else ""
        advice = (
            f"{fills}A queue that manages itself (CoDel, FQ-CoDel, PIE) or a "
            f"smaller buffer takes most of the {milliseconds(queue)} away and costs hardly any rate."
        )
    return Finding(view.direction, "path_rate", evidence, held, advice)


def _way_back(view: FlowContext, held: float) -> Finding:
    """The queue that the round trip shows is the ACKs', not the data's."""
    figure = acks.typical(view)
    there, back = acks.excess(view.crossing, figure) or 0.0, acks.excess(view.back, figure) or 0.0
    evidence = (
        f"A queue stood {share(held)} of the time, with the RTT up to {milliseconds(_queue_ms(view))} above its least of {milliseconds(_rtt(view))} (p95): ACKs wait "
        f"{waiting(back)} on their way, the data {waiting(there)} on theirs ({'medians' if figure == 'p50' else figure})."
    )
    return Finding(view.direction, "ack_path", evidence, held, acks.relief(view))


def _cwnd(view: FlowContext, held: float) -> Finding:
    flight, segment = float(view.figures["outstanding_bytes"]["max"]), view.segment
    mean = float(view.figures["outstanding_bytes"]["mean"] or 0.0)
    evidence = (
        f"The congestion window (or pacing) held the sender {share(held)} of the time while the RTT was near its least of "
        f"{milliseconds(_rtt(view))}: {size(mean)}, {mean / segment:.0f} segments, in flight on average, {size(flight)} at most."
    )
    events, speed = view.loss_events, path_bps(view)
    window = float(view.figures["advertised_window_bytes"]["max"] or 0.0)
    got = float(view.figures["throughput_bps"] or 0.0)
    if speed and got > _NEARLY * speed:
        short = view.held("path_rate") < _QUEUED
        advice = f"With {rate(got)} of the path's {rate(speed)} there is little to gain{': the sender keeps the queue short' if short else ''}."
    elif view.held("receive_window") > held and mean >= _FULL * window:
        advice = f"That is as good as the whole receive window of {size(window)}: the window is what to enlarge."
    elif (echoes := view.other["ecn"]["echoed"]) and not events:
        advice = f"{echoes} echoes of ECN marks held the window down: a queue that manages itself keeps delays short, and there is little to gain."
    elif events >= loss_models.EVENTS and view.figures["retransmitted_segments"]:
        advice = _after_losses(view, events)
    elif view.figures["unique_bytes"] < 64 * segment:
        advice = (
            "The transfer was over within slow start: a larger initial window, or connections that are kept and used again, help."
        )
    else:
        few = f"{many(events, 'loss event')} did not hold it back for long" if events else "no loss held it back"
        advice = f"The window was still growing, or the sender paces itself; {few}."
    return Finding(view.direction, "cwnd", evidence, held, advice)


def _after_losses(view: FlowContext, events: int) -> str:
    queued = view.held("path_rate")
    if queued >= _QUEUED:
        return (
            f"A queue stood {share(queued)} of the time, so the sender does reach the path's rate; {many(events, 'loss event')} cut the window in between, or "
            "it paces itself below that rate."
        )
    small = f"{many(events, 'loss event')} kept the window small although hardly any queue stood"
    if (view.crossing.get("loss_cause") or {}).get("verdict") == "radio":
        return f"{small}: the link loses packets. Repair there, or a congestion control that does not take each loss for congestion (BBR), helps."
    told = "" if view.crossing else " (two captures tell)"
    return (
        f"{small}: a link that loses packets, or a queue that drops early{told}. Repair at the link, or a congestion control that does not take each "
        "loss for congestion (BBR), helps against the first."
    )


def _application(view: FlowContext, held: float) -> Finding:
    evidence = f"The sending application had nothing to send {share(held)} of the time."
    advice = "Nothing on the path or in TCP would make this flow faster." if held > 0.5 else ""
    return Finding(view.direction, "application", evidence, held, advice)


_RULES = {
    "receive_window": _receive_window,
    "send_buffer": _send_buffer,
    "path_rate": _path_rate,
    "cwnd": _cwnd,
    "application": _application,
    "recovery": recovery_time.finding,
}
