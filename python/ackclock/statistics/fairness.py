"""Fairness between flows."""

from __future__ import annotations

import math
from collections.abc import Iterable


def jain_index(rates: Iterable[float]) -> float:
    """Jain's fairness index (sum x)^2 / (n sum x^2) of non-negative rates, in [1/n, 1]; NaN when
    nothing flows.

    Jain, Chiu and Hawe 1984.
    """
    shares = list(rates)
    squares = math.fsum(x * x for x in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares > 0.0 else math.nan
