"""Summary statistics by the rules of all crates (`crates/core/src/statistics`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ackclock.documents.engine import SummaryStats

EMPTY_SUMMARY: SummaryStats = {
    "count": 0,
    "min": None,
    "mean": None,
    "sd": None,
    "p50": None,
    "p95": None,
    "p99": None,
    "max": None,
}
"""The summary without values."""


StatName = Literal["min", "mean", "sd", "p50", "p95", "p99", "max"]


def stats_of(summary: SummaryStats | None, *names: StatName) -> list[float | None]:
    """These statistics of a summary; None without one."""
    return [None if summary is None else summary[name] for name in names]


def summary_stats(values: Iterable[float]) -> SummaryStats | None:
    """``{count, min, mean, sd, p50, p95, p99, max}`` in the unit of the values; None without
    values.

    Quantiles by nearest rank (Hyndman and Fan 1996, definition 1), ``sd`` over n - 1, 0 for one
    value.
    """
    from ackclock import _native

    summary = _native.summary_stats(list(values))
    return summary if summary["count"] else None
