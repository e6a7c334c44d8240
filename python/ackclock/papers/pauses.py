"""When a flow made progress and when it stood still, from its series."""

from __future__ import annotations

from ackclock.simulation.runner import RunResult


def pauses_s(run: RunResult, flow: str, longer_than: float, since: float = 0.0) -> list[float]:
    """The times in which nothing new of a flow was acknowledged, in seconds, to within the series' sample: those above ``longer_than`` that
    begin at ``since`` or later and end with something new."""
    series = run.series
    of = series.filter(series["flow"] == flow)
    found: list[float] = []
    began, last = None, -1
    for time, delivered in zip(of["time_s"].to_list(), of["delivered_bytes"].to_list(), strict=True):
        if delivered != last:
            if began is not None and last > 0 and began >= since and time - began > longer_than:
                found.append(time - began)
            began, last = time, delivered
    return found
