"""Pauses of a flow, from its series."""

from __future__ import annotations

from ackclock.simulation.runner import RunResult


def pauses_s(run: RunResult, flow: str, longer_than: float, since: float = 0.0) -> list[float]:
    """Durations without newly acknowledged data, in seconds, at the resolution of the series: those
    above ``longer_than`` that begin at ``since`` or later and have ended."""
    series = run.series
    of = series.filter(series["flow"] == flow)
    pauses: list[float] = []
    began, last = None, -1
    for time, delivered in zip(of["time_s"].to_list(), of["delivered_bytes"].to_list(), strict=True):
        if delivered != last:
            if began is not None and last > 0 and began >= since and time - began > longer_than:
                pauses.append(time - began)
            began, last = time, delivered
    return pauses
