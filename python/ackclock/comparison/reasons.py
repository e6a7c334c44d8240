"""The reason for a configuration's rank: one sentence from the metrics of its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from ackclock.comparison.configuration import Configuration
from ackclock.statistics import SAME_WITHIN, Interval

Metrics = Mapping[str, Interval]
Standing = Literal["best", "tied", "undecided", "behind"]
"""The standing of a configuration: the winner, tied with it, below it by the mean alone (not
significant, since the seeds scatter too much), or below it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of a goodput: its weight (0..1) and its text."""

    weight: Callable[[Metrics], float]
    text: Callable[[Metrics, Configuration], str]


def mean(metrics: Metrics, name: str) -> float:
    """The mean of a metric, 0 where there is none."""
    return metrics[name].mean if name in metrics else 0.0


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f} %" if share >= 0.1 or share == 0.0 else f"{100.0 * share:.2g} %"


def _window_ceiling(metrics: Metrics, who: str, size: str) -> str:
    rtt = mean(metrics, "rtt_mean_ms")
    return f"{who} ({size}) limited goodput {{share}} of the time: one window per RTT of {rtt:.0f} ms"


def _receive_window(metrics: Metrics, choice: Configuration) -> str:
    text = _window_ceiling(metrics, "the receive window", choice.receive_buffer)
    return text.format(share=_percent(mean(metrics, "limited_receive_window")))


def _send_buffer(metrics: Metrics, choice: Configuration) -> str:
    text = _window_ceiling(metrics, "the send buffer", choice.send_buffer)
    return text.format(share=_percent(mean(metrics, "limited_send_buffer")))


def _timeouts(metrics: Metrics, choice: Configuration) -> str:
    return (
        f"{_count(mean(metrics, 'timeouts'), 'retransmission timeout')} per run caused "
        f"{_percent(mean(metrics, 'idle_share'))} idle time"
    )


def _recovery(metrics: Metrics, choice: Configuration) -> str:
    rate = _percent(mean(metrics, "retransmission_rate"))
    return (
        f"{_percent(mean(metrics, 'limited_recovery'))} of the time was loss recovery ({rate} of "
        "the segments were retransmitted)"
    )


def _lost_acks(metrics: Metrics, choice: Configuration) -> str:
    taken = mean(metrics, "ack_filter_share")
    by_filter = f" ({_percent(taken)} by an ACK filter)" if taken > 0.0 else ""
    return (
        f"the reverse path dropped {_percent(mean(metrics, 'ack_drop_share'))} of the "
        f"ACKs{by_filter} and delayed the others by {mean(metrics, 'ack_queue_delay_ms'):.0f} ms, "
        "so the window grows late and in bursts"
    )


def _full(metrics: Metrics, choice: Configuration) -> str:
    return f"{_percent(mean(metrics, 'utilization'))} utilization of the bottleneck"


def _congestion(metrics: Metrics, choice: Configuration) -> str:
    cuts = mean(metrics, "window_cuts")
    cut = f", reduced {_count(cuts, 'time')} per run," if cuts >= 0.05 else ""
    return (
        f"the congestion window{cut} limited goodput {_percent(mean(metrics, 'limited_cwnd'))} of "
        f"the time, at {_percent(mean(metrics, 'utilization'))} utilization of the bottleneck"
    )


def _fills(metrics: Metrics) -> float:
    return 1.0 if mean(metrics, "utilization") >= 0.95 else 0.0


_CAUSES: tuple[Cause, ...] = (
    Cause(_fills, _full),
    Cause(lambda m: mean(m, "idle_share") if mean(m, "timeouts") >= 0.5 else 0.0, _timeouts),
    Cause(lambda m: 0.9 * mean(m, "ack_drop_share"), _lost_acks),
    Cause(lambda m: mean(m, "limited_receive_window"), _receive_window),
    Cause(lambda m: mean(m, "limited_send_buffer"), _send_buffer),
    Cause(lambda m: mean(m, "limited_recovery"), _recovery),
    Cause(lambda m: 0.25 * mean(m, "limited_cwnd"), _congestion),
)
"""In order of precedence among equal weights. The congestion window is the intended limit, so it is
the cause only if no other is; lost ACKs weigh a little less than a limit that the sender reports.
"""


def main_cause(metrics: Metrics, choice: Configuration) -> str:
    """The cause with the largest weight, as a clause."""
    best = max(_CAUSES, key=lambda cause: cause.weight(metrics))
    return best.text(metrics, choice)


def cost(metrics: Metrics) -> str:
    """The cost in delay and timeouts, as a clause."""
    queue = mean(metrics, "queue_delay_ms")
    added = f"{queue:.0f} ms of queueing delay on average" if queue >= 1.0 else "no queueing delay"
    base = mean(metrics, "rtt_min_ms")
    timeouts = mean(metrics, "timeouts")
    repair = f"with {_count(timeouts, 'timeout')} per run" if timeouts >= 0.05 else "without a timeout"
    return f"{added} on a path of {base:.0f} ms, {repair}"


def why(metrics: Metrics, choice: Configuration, *, best: Metrics, standing: Standing) -> str:
    """One sentence: the comparison with the best configuration, the main cause, and, for the best,
    the cost.
    """
    cause = main_cause(metrics, choice)
    ours, top = mean(metrics, "goodput_bps"), mean(best, "goodput_bps")
    if ours <= 0.0:
        return f"Delivered nothing: {cause}."
    if standing == "best":
        return f"{_success(metrics, cause)}; {cost(metrics)}."
    behind = 1.0 - ours / top
    difference = f"{_percent(abs(behind))} {'less' if behind > 0.0 else 'more'} goodput"
    if standing == "tied":
        apart = "within 1 % of" if abs(behind) <= SAME_WITHIN else f"not significantly different ({difference}) from"
        return f"Tied, {apart} the best, {_delay(metrics, best)}: {cause}."
    if abs(behind) > SAME_WITHIN:
        scatter = " (by the mean: not significant, since the seeds scatter too much)" if standing == "undecided" else ""
        return f"{difference[0].upper()}{difference[1:]} than the best{scatter}: {cause}{_contrast(metrics, best)}."
    return f"Same goodput as the best, {_delay(metrics, best)}: {cause}{_contrast(metrics, best)}."


def _success(metrics: Metrics, cause: str) -> str:
    """The winner's utilization, and its limit."""
    limit = f"; {cause}" if not _fills(metrics) else ""
    return f"{_percent(mean(metrics, 'utilization'))} utilization of the bottleneck{limit}"


def _contrast(metrics: Metrics, best: Metrics) -> str:
    """A clause if the configuration has clearly more timeouts or retransmissions than the best;
    else empty.
    """
    timeouts = mean(metrics, "timeouts"), mean(best, "timeouts")
    if timeouts[0] >= timeouts[1] + 1.0:
        return f", with {_count(timeouts[0], 'timeout')} per run instead of {_number(timeouts[1])}"
    retransmission_rates = mean(metrics, "retransmission_rate"), mean(best, "retransmission_rate")
    if retransmission_rates[0] >= retransmission_rates[1] + 0.005:
        return (
            f", with {_percent(retransmission_rates[0])} of the segments retransmitted instead of "
            f"{_percent(retransmission_rates[1])}"
        )
    return ""


def _delay(metrics: Metrics, best: Metrics) -> str:
    slower = mean(metrics, "rtt_p95_ms") - mean(best, "rtt_p95_ms")
    return (
        f"{abs(slower):.0f} ms {'more' if slower > 0 else 'less'} p95 RTT" if abs(slower) >= 1.0 else "the same p95 RTT"
    )


def _number(number: float) -> str:
    if number < 0.05:
        return "none"
    return f"{number:.0f}" if number >= 10.0 or number == round(number) else f"{number:.1f}"


def _count(number: float, noun: str) -> str:
    return f"{_number(number)} {noun}" + ("" if number == 1.0 else "s")
