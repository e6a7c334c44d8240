"""Table cells that several reports have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ackclock.format import joined, three
from ackclock.report.page import Cell


def metric_cell(metric: Mapping[str, Any] | None, scale: float = 1.0) -> Cell:
    """A metric's mean with its 95 % interval below it, or with its modes, or with few values that
    are far apart; the value of one run.

    ``scale`` converts the metric to the unit of the column.
    """
    if metric is None or metric.get("mean") is None:
        return Cell("-", tone="muted")
    mean, lo, hi = (scale * float(math.inf if metric[key] is None else metric[key]) for key in ("mean", "lo", "hi"))
    if metric.get("values"):
        return Cell(three(mean), f"{joined([three(scale * value) for value in metric['values']])} in single runs")
    if metric.get("modes"):
        modes = " or ".join(f"{three(scale * m['mean'])} ({m['n']} runs)" for m in metric["modes"])
        return Cell(three(mean), f"two modes: {modes}")
    if int(metric.get("n", 1)) < 2:
        return Cell(f"{mean:.0f}" if mean.is_integer() else three(mean))
    return Cell(three(mean), f"{three(lo)} to {three(hi)}" if hi - lo > 5e-4 * abs(mean) else "")
