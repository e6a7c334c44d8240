"""Table cells that several reports have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ackclock.format import joined, three
from ackclock.report.page import Cell

if TYPE_CHECKING:
    from ackclock.documents.parts import Estimate


def metric_cell(metric: Estimate | None, scale: float = 1.0) -> Cell:
    """A metric's mean with its 95 % interval below it, or with its modes, or with few values that
    are far apart; the value of one run.

    ``scale`` converts the metric to the unit of the column.
    """
    if metric is None or metric.get("mean") is None:
        return Cell("-", tone="muted")
    ends = (metric["mean"], metric["lo"], metric["hi"])
    mean, lo, hi = (scale * float(math.inf if end is None else end) for end in ends)
    if values := metric.get("values"):
        return Cell(three(mean), f"{joined([three(scale * value) for value in values])} in single runs")
    if modes := metric.get("modes"):
        texts = " or ".join(f"{three(scale * m['mean'])} ({m['n']} runs)" for m in modes)
        return Cell(three(mean), f"two modes: {texts}")
    if int(metric.get("n", 1)) < 2:
        return Cell(f"{mean:.0f}" if mean.is_integer() else three(mean))
    return Cell(three(mean), f"{three(lo)} to {three(hi)}" if hi - lo > 5e-4 * abs(mean) else "")
