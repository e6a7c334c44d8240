"""The rate of several flows together."""

from __future__ import annotations

import math
from collections.abc import Iterable

RatedSpan = tuple[float | None, float, float]
"""The rate of a flow, and the start and the end of the time over which it is an average, in
seconds; None without a rate.
"""


def joint_rate(flows: Iterable[RatedSpan]) -> float:
    """What the flows delivered, over the time in which at least one of them was active; 0 without
    any rate.

    Rates of flows that are not active at the same time do not add up. So the joint rate of flows
    over one link is at most the link's rate; that of flows with the same time is the sum of theirs.
    """
    spans = [(rate, start, end) for rate, start, end in flows if rate is not None and end > start]
    if len({(start, end) for _, start, end in spans}) <= 1:
        return math.fsum(rate for rate, _, _ in spans)
    return math.fsum(rate * (end - start) for rate, start, end in spans) / covered_s((s, e) for _, s, e in spans)


def covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """The length of the union of intervals (start, end)."""
    parts = []
    reached = -math.inf
    for start, end in sorted(spans):
        if end > reached:
            parts.append(end - max(start, reached))
            reached = end
    return math.fsum(parts)
