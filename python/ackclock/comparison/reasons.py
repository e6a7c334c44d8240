"""The reason for a configuration's rank: one sentence from the metrics of its runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from ackclock.format import count, share_text, significant
from ackclock.simulation.limits import FlowLimit
from ackclock.statistics import NEAR_THE_BEST, SAME_WITHIN, Interval, Ratio

Metrics = Mapping[str, Interval]
Standing = Literal["best", "tied", "undecided", "behind"]
"""The standing of a configuration: the winner, tied with it, below it by the mean alone (the
interval of the ratio of their means includes 1), or below it."""
RANKED = {
    "goodput_bps": "goodput",
    "rtt_p95_ms": "p95 RTT",
    "retransmission_rate": "retransmission rate",
    "jain": "Jain's index",
}
"""The metrics of a ranking, in words."""
MAX_TIMES = 1000
"""The largest ratio with a number, and its inverse the smallest: two seeds that scatter have
intervals of any width."""


def is_undecided(standing: Standing, ratio: Ratio | None) -> bool:
    """Whether the seeds do not separate a configuration from the best one although its mean is more
    than 5 % away.
    """
    return standing in ("tied", "undecided") and ratio is not None and abs(1.0 - ratio.value) > NEAR_THE_BEST


def scatter(ratio: Ratio, ranked_by: str) -> str:
    """The interval of a ratio to the best mean that includes 1, as a clause."""
    of = RANKED[ranked_by]
    unsure = f"by the mean, but {ratio.n} seeds do not separate it from the best"
    if not math.isfinite(ratio.value):
        return f"{unsure}, whose {of} is 0"
    high = significant(ratio.hi, 2) if ratio.hi < MAX_TIMES else f"more than {MAX_TIMES}"
    low = significant(ratio.lo, 2) if ratio.lo > 1 / MAX_TIMES else f"less than {1 / MAX_TIMES:g}"
    times = f"{low} to {high} times the best mean"
    return f"{unsure}: the 95 % interval of its {of} is {times}"


def mean(metrics: Metrics, name: str) -> float:
    """The mean of a metric, 0 where there is none."""
    return metrics[name].mean if name in metrics else 0.0


def main_cause(metrics: Metrics, limit: FlowLimit | None) -> str:
    """What limits the configuration, as a clause; ACKs that the reverse path dropped besides."""
    if limit is None:
        return "no flow sent data"
    lost, filtered = mean(metrics, "ack_drop_share"), mean(metrics, "ack_filter_share")
    by_filter = f" ({share_text(filtered)} by an ACK filter)" if filtered > 0.0 else ""
    acks = f"; the reverse path dropped {share_text(lost)} of the ACKs{by_filter}" if lost >= 0.05 else ""
    return f"{limit.clause}{acks}"


def cost(metrics: Metrics) -> str:
    """The cost in delay, timeouts and retransmissions, as a clause."""
    queue = mean(metrics, "queue_delay_ms")
    added = f"{queue:.0f} ms of queueing delay on average" if queue >= 1.0 else "no queueing delay"
    base = mean(metrics, "rtt_min_ms")
    timeouts = mean(metrics, "timeouts")
    repair = f", with {count(timeouts, 'timeout')} per run" if timeouts >= 0.05 else ", without a timeout"
    if "timeouts" not in metrics:  # a QUIC stack that shows none
        repair = ""
    retransmitted = mean(metrics, "retransmission_rate")
    again = f", with {share_text(retransmitted)} of the segments retransmitted" if retransmitted >= 0.01 else ""
    return f"{added} on a path of {base:.0f} ms{repair}{again}"


def why(
    metrics: Metrics,
    limit: FlowLimit | None,
    *,
    best: Metrics,
    standing: Standing,
    ratio: Ratio | None = None,
    ranked_by: str = "goodput_bps",
) -> str:
    """One sentence: the comparison with the best configuration, what limits this one, and, for the
    best, the cost.

    `ratio` is that of the means of `ranked_by`, this one's over the best, None for the best mean.
    """
    cause = main_cause(metrics, limit)
    ours, top = mean(metrics, "goodput_bps"), mean(best, "goodput_bps")
    if ours <= 0.0:
        return f"Delivered nothing: {cause}."
    if standing == "best":
        return f"{cause[0].upper()}{cause[1:]}; {cost(metrics)}."
    if ratio is not None and is_undecided(standing, ratio):
        return f"{_difference(ratio.value, RANKED[ranked_by])} {scatter(ratio, ranked_by)}; {cause}."
    behind = 1.0 - ours / top if top > 0.0 else 0.0
    if standing == "tied":
        apart = "within 1 % of"
        if abs(behind) > SAME_WITHIN:
            apart = f"not significantly different ({_difference(ours / top, 'goodput').lower()}) from"
        return f"Tied, {apart} the best, {_delay(metrics, best)}: {cause}."
    if abs(behind) > SAME_WITHIN:
        return f"{_difference(ours / top, 'goodput')} than the best: {cause}{_contrast(metrics, best)}."
    return f"Same goodput as the best, {_delay(metrics, best)}: {cause}{_contrast(metrics, best)}."


def _difference(ratio: float, of: str) -> str:
    if not math.isfinite(ratio):
        return f"More {of}"
    return f"{share_text(abs(1.0 - ratio))} {'less' if ratio < 1.0 else 'more'} {of}"


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
