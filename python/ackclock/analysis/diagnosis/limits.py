"""What limits the sender: windows, buffers, the path, the application, loss recovery."""

from __future__ import annotations

from collections.abc import Iterator

from ackclock.analysis.diagnosis import acks, loss_response, receiver_vantage, recovery_time
from ackclock.analysis.diagnosis.flow_context import NEARLY, Finding, FlowContext, many, share, size, span, waiting
from ackclock.analysis.diagnosis.receiver_vantage import MIN_SHARE, SLOW_READER
from ackclock.format import milliseconds, rate
from ackclock.limits import claim, sentence

_MATTERS = 0.2
_QUEUED = 0.2
"""Share of time with a queue above which a flow reaches its path's rate."""
_LENGTHENED = 1.5
"""A median RTT above this multiple of the minimum has a queue."""
_DEEP = 1.0
"""Queueing delay, in minimum RTTs, above which a smaller buffer suffices."""
_GREW = 2.0
"""A window above this multiple of its minimum and of the bytes per RTT limited as it grew."""
_UNSCALED = 65_535
"""The maximum window without window scaling, in bytes (RFC 7323, section 2.2)."""
_FULL = 0.9
"""Share of the receive window: mean bytes in flight are below it by a segment that does not fit or
an ACK in transit.
"""


def findings(context: FlowContext) -> Iterator[Finding]:
    """Each limit with a share of time of at least `MIN_SHARE`."""
    if not context.pace_seen:
        yield receiver_vantage.finding(context)
        return
    for limit_name, rule in _RULES.items():
        share_of_time = context.limited_share(limit_name)
        # The wait for the last ACKs after the last data is no application limit.
        if share_of_time - (_tail(context) if limit_name == "application" else 0.0) >= MIN_SHARE:
            yield rule(context, share_of_time)


def _tail(context: FlowContext) -> float:
    """Share of the direction's time after its last data."""
    lasted = 1e3 * float(context.flow["duration_s"]) - float(context.figures["first_data_ms"] or 0.0)
    return float(context.figures["tail_ms"] or 0.0) / lasted if lasted > 0.0 else 0.0


def _rtt(context: FlowContext) -> float:
    """The path's minimum RTT in ms, without queues; 0 if unknown."""
    return float(context.figures["rtt_ms"]["min"] or 0.0)


def _window_rate(bytes_: float, rtt_ms: float) -> str:
    return rate(bytes_ * 8e3 / rtt_ms) if rtt_ms else "-"


def _fills(context: FlowContext, limit_bps: float) -> str:
    """The buffer that fills the path if its rate is known, else the effect of doubling the
    buffer.
    """
    rtt, bottleneck_bps = _rtt(context), path_bps(context)
    flight = float(context.figures["outstanding_bytes"]["max"])
    if bottleneck_bps and rtt and bottleneck_bps > 1.2 * limit_bps:
        return (
            f"about {size(1.25 * bottleneck_bps * rtt / 8e3)} would fill the path, whose rate is "
            f"about {rate(bottleneck_bps)}"
        )
    return f"doubling it to {size(2 * flight)} doubles the rate while the RTT remains {milliseconds(rtt)}"


def path_bps(context: FlowContext) -> float | None:
    """The bottleneck's rate from a standing queue between two captures."""
    found = (context.crossing.get("bottleneck_buffer_bytes") or {}).get("rate_bps")
    return float(found) if found else None


def _send_buffer(context: FlowContext, share_of_time: float) -> Finding:
    flight, window = context.figures["outstanding_bytes"]["max"], context.figures["advertised_window_bytes"]["max"]
    limit_bps = float(context.figures["goodput_bps"] or 0.0)
    evidence = (
        f"{sentence(claim('send_buffer', share=share_of_time))}: at most {size(flight)} in flight with "
        f"a receive window of {size(window)} and no loss (inferred, not on the wire): "
        f"{_window_rate(flight, float(context.figures['rtt_ms']['p50'] or _rtt(context)))}."
    )
    advice = f"Enlarge the send buffer (SO_SNDBUF, wmem): {_fills(context, limit_bps)}."
    bottleneck_bps, minimum = path_bps(context), _rtt(context)
    if (bottleneck_bps and flight >= bottleneck_bps * minimum / 8e3) or float(
        context.figures["rtt_ms"]["p50"] or 0.0
    ) > _LENGTHENED * minimum:
        advice = "It is as large as the path's capacity: a larger one would only lengthen the queue."
    return Finding(context.direction, "send_buffer", evidence, share_of_time, advice)


def _receive_window(context: FlowContext, share_of_time: float) -> Finding:
    window = context.figures["advertised_window_bytes"]["max"] or 0
    zero, rtt = context.figures["zero_windows"], float(context.figures["rtt_ms"]["p50"] or _rtt(context))
    if receiver_vantage.is_closed_by_reader(context, share_of_time):
        evidence = (
            f"{sentence(claim('receive_window', share=share_of_time))}: the receiver closed it "
            f"{many(zero, 'time')}, {span(context.figures['zero_window']['closed_s'])} in all, since the application there reads more slowly than data "
            f"arrives ({rate(context.figures['goodput_bps'])} in all)."
            + (" The sender probed the closed window, so it had data waiting." if context.waits_closed else "")
        )
        return Finding(
            context.direction,
            "receive_window",
            evidence,
            share_of_time,
            SLOW_READER,
        )
    if slow := receiver_vantage.shrinking_window(context, share_of_time):
        return slow
    limit_bps = float(context.figures["goodput_bps"] or 0.0)
    smallest = float(context.figures["advertised_window_bytes"]["min"] or 0.0)
    grew = window > _GREW * max(smallest, limit_bps * rtt / 8e3)
    if grew:
        evidence = (
            f"{sentence(claim('receive_window', share=share_of_time))}: data in flight filled it while it "
            f"grew; its maximum, {size(window)}, does not limit the rate."
        )
    else:
        evidence = (
            f"{sentence(claim('receive_window', f' ({size(window)})', share_of_time))}: one window per "
            f"RTT of {milliseconds(rtt)} is {_window_rate(window, rtt)}."
        )
    if zero:
        evidence += (
            f" Data filled it {many(zero, 'time')}, and it opened again at once: it was closed for "
            f"{span(context.figures['zero_window']['closed_s'])} in all, so the reader keeps up."
        )
    scaling = (
        "" if context.has_window_scaling else " Window scaling was not negotiated, so the window is at most 64 KB."
    )
    advice = f"Enlarge the receive buffer (SO_RCVBUF, rmem): {_fills(context, limit_bps)}."
    if not context.has_window_scaling and window >= _FULL * _UNSCALED:
        advice = _unscaled(context)
    elif grew:
        advice = "The receiver tunes its buffer: a larger initial one (the middle value of tcp_rmem) shortens that."
    # The median, since delayed ACKs, not a queue, cause the maximum RTT.
    if context.limited_share("path_rate") + context.limited_share(
        "recovery"
    ) > share_of_time or rtt > _LENGTHENED * _rtt(context):
        advice = "A larger one would only lengthen the queue: the path's rate is reached."
    return Finding(context.direction, "receive_window", evidence + scaling, share_of_time, advice)


def _unscaled(context: FlowContext) -> str:
    """What to do about a window that is as large as it can be without window scaling."""
    if context.strips_window_scaling:
        return (
            "No receive buffer enlarges it: the path takes the window scale option away (one capture has it, the other "
            "has not); several connections share the path better."
        )
    return "No receive buffer enlarges it: turn window scaling on at both ends (net.ipv4.tcp_window_scaling = 1)."


def _queue_ms(context: FlowContext) -> float:
    rtt = context.figures["rtt_ms"]
    return float((rtt["p95"] or 0.0) - (rtt["min"] or 0.0))


def _path_rate(context: FlowContext, share_of_time: float) -> Finding:
    if acks.ack_queue_dominates(context):
        return _reverse_path(context, share_of_time)
    queue, known_bps, rtt = _queue_ms(context), path_bps(context), _rtt(context)
    bottleneck_bps = known_bps or float(context.figures["throughput_bps"] or 0.0)
    stood = f"the RTT was up to {milliseconds(queue)} above its minimum of {milliseconds(rtt)} (p95)"
    data_ms = acks.excess(context.crossing, "p95")
    of = f" (about {rate(known_bps)})" if known_bps else "" if data_ms is not None else " of the data or of the ACKs"
    through = "" if known_bps else f", through which this flow had {rate(bottleneck_bps)},"
    if data_ms is None:
        # Bytes in flight are on the link or in a queue (Little's law), so the queue has at most
        # this part. Both times are 0 where nearly all ACKs have the time of their data.
        queued = queue / (queue + rtt) if queue + rtt > 0.0 else 0.0
        part = min(queue * bottleneck_bps / 8e3, float(context.figures["outstanding_bytes"]["max"]) * queued)
        where = f"up to {size(part)} of this flow in a queue of the data or of the ACKs: a second capture shows which"
    else:
        queue, ack_ms = data_ms, acks.excess(context.back, "p95") or 0.0
        where = (
            f"{waiting(data_ms)} of queue in the direction of the data, "
            f"{size(data_ms * bottleneck_bps / 8e3)} at the bottleneck, {waiting(ack_ms)} in that "
            "of the ACKs (p95 each)"
        )
    evidence = (
        f"{sentence(claim('bottleneck', of))}: a queue{through} stands {share(share_of_time)} of the "
        f"time; {stood}, {where}."
    )
    full = known_bps and float(context.figures["throughput_bps"] or 0.0) > NEARLY * known_bps
    advice = "The path is full: hardly anything but a faster bottleneck makes this flow faster." if full else ""
    if full and acks.wait_at_times(context):
        advice = (
            "While data waits the path is full, and hardly anything but a faster bottleneck makes "
            "this flow faster. While ACKs wait, their direction limits it."
        )
    if queue > max(50.0, _DEEP * rtt):
        # With other flows on the path, this flow's rate is not the path's.
        fills = f"One RTT of buffer, {size(known_bps * rtt / 8e3)}, fills this path. " if known_bps else ""
        advice = (
            f"{fills}Active queue management (CoDel, FQ-CoDel, PIE) or a "
            f"smaller buffer removes most of the {milliseconds(queue)} at hardly any cost in rate."
        )
    return Finding(context.direction, "bottleneck", evidence, share_of_time, advice)


def _reverse_path(context: FlowContext, share_of_time: float) -> Finding:
    """The queue in the RTT is that of the ACKs, not of the data."""
    figure = acks.typical(context)
    data_ms, ack_ms = acks.excess(context.crossing, figure) or 0.0, acks.excess(context.back, figure) or 0.0
    evidence = (
        f"{sentence(claim('ack_path', ' of their direction'))}: a queue stands {share(share_of_time)} "
        f"of the time, with the RTT up to {milliseconds(_queue_ms(context))} above its minimum of "
        f"{milliseconds(_rtt(context))} (p95); ACKs wait {waiting(ack_ms)} in their direction, data "
        f"{waiting(data_ms)} in theirs ({'medians' if figure == 'p50' else figure})."
    )
    return Finding(context.direction, "ack_path", evidence, share_of_time, acks.relief(context))


def _cwnd(context: FlowContext, share_of_time: float) -> Finding:
    flight, segment = float(context.figures["outstanding_bytes"]["max"]), context.segment
    mean = float(context.figures["outstanding_bytes"]["mean"] or 0.0)
    evidence = (
        f"{sentence(claim('cwnd', share=share_of_time))}, or pacing does: the RTT is near its minimum "
        f"of {milliseconds(_rtt(context))}, with {size(mean)}, "
        f"{mean / segment:.0f} segments, in flight on average, at most {size(flight)}."
    )
    events, bottleneck_bps = context.loss_events, path_bps(context)
    window = float(context.figures["advertised_window_bytes"]["max"] or 0.0)
    throughput_bps = float(context.figures["throughput_bps"] or 0.0)
    if bottleneck_bps and throughput_bps > NEARLY * bottleneck_bps:
        short = context.limited_share("path_rate") < _QUEUED
        advice = (
            f"With {rate(throughput_bps)} of the path's {rate(bottleneck_bps)} there is little to "
            f"gain{': the sender keeps the queue short' if short else ''}."
        )
    elif context.limited_share("receive_window") > share_of_time and mean >= _FULL * window:
        advice = f"That is nearly the receive window of {size(window)}: enlarge the receive window."
    elif (echoes := context.other["ecn"]["echoed"]) and not events:
        advice = (
            f"{echoes} echoes of ECN marks kept the window small: active queue management keeps "
            "delays short, and there is little to gain."
        )
    elif events >= loss_response.EVENTS and context.figures["retransmitted_segments"]:
        advice = _after_losses(context, events)
    elif context.figures["unique_bytes"] < 64 * segment:
        advice = "The transfer ended in slow start: a larger initial window or persistent connections help."
    else:
        few = f"{many(events, 'loss event')} limited it only briefly" if events else "no loss limited it"
        advice = f"The window was still growing, or the sender paces itself; {few}."
    return Finding(context.direction, "cwnd", evidence, share_of_time, advice)


def _after_losses(context: FlowContext, events: int) -> str:
    queued = context.limited_share("path_rate")
    if queued >= _QUEUED:
        return (
            f"A queue stood {share(queued)} of the time, so the sender reaches the path's rate; "
            f"{many(events, 'loss event')} reduced the window in between, or it paces below that "
            "rate."
        )
    small = f"{many(events, 'loss event')} kept the window small with hardly any queue"
    if (context.crossing.get("loss_cause") or {}).get("verdict") == "radio":
        return (
            f"{small}: the link loses packets. Link-layer retransmission or a congestion control "
            "that does not reduce its window for each loss (BBR) helps."
        )
    hint = "" if context.crossing else " (two captures show which)"
    return (
        f"{small}: a link that loses packets, or a queue that drops early{hint}. Link-layer "
        "retransmission, or a congestion control that does not reduce its window for each loss "
        "(BBR), helps against the first."
    )


def _application(context: FlowContext, share_of_time: float) -> Finding:
    evidence = f"{sentence(claim('application'))}: it has no data to send {share(share_of_time)} of the time."
    advice = "Nothing on the path or in TCP would make this flow faster." if share_of_time > 0.5 else ""
    return Finding(context.direction, "application", evidence, share_of_time, advice)


_RULES = {
    "receive_window": _receive_window,
    "send_buffer": _send_buffer,
    "path_rate": _path_rate,
    "cwnd": _cwnd,
    "application": _application,
    "recovery": recovery_time.finding,
}
