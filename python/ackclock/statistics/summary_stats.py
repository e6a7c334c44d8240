"""Summary statistics by the rules of all crates (`crates/core/src/statistics`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

EMPTY_SUMMARY: Mapping[str, float | None] = {
    "count": 0,
    **dict.fromkeys(("min", "mean", "sd", "p50", "p95", "p99", "max")),
}
"""The summary without values."""


def summary_stats(values: Iterable[float]) -> dict[str, float | None] | None:
    """``{count, min, mean, sd, p50, p95, p99, max}`` in the unit of the values; None without
    values.

    Quantiles by nearest rank (Hyndman and Fan 1996, definition 1), ``sd`` over n - 1, 0 for one
    value.
    """
    from ackclock import _native

    summary = _native.summary_stats(list(values))
    return summary if summary["count"] else None
