"""Summary statistics with the quantile rule of all crates: nearest rank."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def nearest_rank(ordered: Sequence[float], share: float) -> float | None:
    """The smallest value of which at least the share (0 to 1) of the sorted values is not larger; None without values.

    The engine's rule, too (Hyndman and Fan 1996, definition 1): the result is a measured value, not interpolated.
    """
    if not ordered:
        return None
    rank = math.ceil(share * len(ordered))
    return ordered[min(max(rank, 1), len(ordered)) - 1]


def spread(values: Iterable[float]) -> dict[str, float | None] | None:
    """``{min, mean, p50, p95, max, sd}`` in the values' unit, as ``simulate`` gives of round trips (`sd` over n); None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    mean = math.fsum(ordered) / len(ordered)
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in ordered) / len(ordered))
    p50, p95 = nearest_rank(ordered, 0.5), nearest_rank(ordered, 0.95)
    return {"min": ordered[0], "mean": mean, "p50": p50, "p95": p95, "max": ordered[-1], "sd": sd}
