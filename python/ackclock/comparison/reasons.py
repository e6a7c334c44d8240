"""The reason for a configuration's rank: one sentence from the metrics of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ackclock.simulation.limits import LimitFacts, count, decide, share_text
from ackclock.statistics import SAME_WITHIN, Interval

Metrics = Mapping[str, Interval]
Standing = Literal["best", "tied", "undecided", "behind"]
"""The standing of a configuration: the winner, tied with it, below it by the mean alone (not
significant, since the seeds scatter too much), or below it."""


def mean(metrics: Metrics, name: str) -> float:
    """The mean of a metric, 0 where there is none."""
    return metrics[name].mean if name in metrics else 0.0


def main_cause(metrics: Metrics, facts: LimitFacts | None) -> str:
    """What limits the configuration, as a clause; ACKs that the reverse path dropped besides."""
    if facts is None:
        return "no flow sent data"
    lost, filtered = mean(metrics, "ack_drop_share"), mean(metrics, "ack_filter_share")
    by_filter = f" ({share_text(filtered)} by an ACK filter)" if filtered > 0.0 else ""
    acks = f"; the reverse path dropped {share_text(lost)} of the ACKs{by_filter}" if lost >= 0.05 else ""
    return f"{decide(facts).why}{acks}"


def cost(metrics: Metrics) -> str:
    """The cost in delay and timeouts, as a clause."""
    queue = mean(metrics, "queue_delay_ms")
    added = f"{queue:.0f} ms of queueing delay on average" if queue >= 1.0 else "no queueing delay"
    base = mean(metrics, "rtt_min_ms")
    timeouts = mean(metrics, "timeouts")
    repair = f"with {count(timeouts, 'timeout')} per run" if timeouts >= 0.05 else "without a timeout"
    return f"{added} on a path of {base:.0f} ms, {repair}"


def why(metrics: Metrics, facts: LimitFacts | None, *, best: Metrics, standing: Standing) -> str:
    """One sentence: the comparison with the best configuration, what limits this one, and, for the
    best, the cost.
    """
    cause = main_cause(metrics, facts)
    ours, top = mean(metrics, "goodput_bps"), mean(best, "goodput_bps")
    if ours <= 0.0:
        return f"Delivered nothing: {cause}."
    if standing == "best":
        return f"{cause[0].upper()}{cause[1:]}; {cost(metrics)}."
    behind = 1.0 - ours / top
    difference = f"{share_text(abs(behind))} {'less' if behind > 0.0 else 'more'} goodput"
    if standing == "tied":
        apart = "within 1 % of" if abs(behind) <= SAME_WITHIN else f"not significantly different ({difference}) from"
        return f"Tied, {apart} the best, {_delay(metrics, best)}: {cause}."
    if abs(behind) > SAME_WITHIN:
        scatter = " (by the mean: not significant, since the seeds scatter too much)" if standing == "undecided" else ""
        return f"{difference[0].upper()}{difference[1:]} than the best{scatter}: {cause}{_contrast(metrics, best)}."
    return f"Same goodput as the best, {_delay(metrics, best)}: {cause}{_contrast(metrics, best)}."


def _contrast(metrics: Metrics, best: Metrics) -> str:
    """A clause if the configuration has clearly more timeouts or retransmissions than the best;
    else empty.
    """
    timeouts = mean(metrics, "timeouts"), mean(best, "timeouts")
    if timeouts[0] >= timeouts[1] + 1.0:
        return f", with {count(timeouts[0], 'timeout')} per run instead of {_few(timeouts[1])}"
    retransmission_rates = mean(metrics, "retransmission_rate"), mean(best, "retransmission_rate")
    if retransmission_rates[0] >= retransmission_rates[1] + 0.005:
        return (
            f", with {share_text(retransmission_rates[0])} of the segments retransmitted instead of "
            f"{share_text(retransmission_rates[1])}"
        )
    return ""


def _delay(metrics: Metrics, best: Metrics) -> str:
    slower = mean(metrics, "rtt_p95_ms") - mean(best, "rtt_p95_ms")
    return (
        f"{abs(slower):.0f} ms {'more' if slower > 0 else 'less'} p95 RTT" if abs(slower) >= 1.0 else "the same p95 RTT"
    )


def _few(number: float) -> str:
    return "none" if number < 0.05 else count(number, "").strip()
