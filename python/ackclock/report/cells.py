"""Table cells that several reports have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.format import three
from ackclock.report.page import Cell


def metric_cell(metric: Mapping[str, Any] | None, scale: float = 1.0) -> Cell:
    """A metric's mean with its 95 % interval below it, or with its modes if there are several; the
    value of one run.

    ``scale`` converts the metric to the unit of the column.
    """
    if metric is None or metric.get("mean") is None:
        return Cell("-", tone="muted")
    mean, lo, hi = (scale * float(metric[key]) for key in ("mean", "lo", "hi"))
    lo = max(lo, 0.0) if mean >= 0.0 else lo  # a rate, a time or a share is not negative; Student's interval may be
    if metric.get("modes"):
        modes = " or ".join(f"{three(scale * m['mean'])} ({m['n']} runs)" for m in metric["modes"])
        return Cell(three(mean), f"two modes: {modes}")
    if int(metric.get("n", 1)) < 2:
        return Cell(f"{mean:.0f}" if mean.is_integer() else three(mean))
    return Cell(three(mean), f"{three(lo)} to {three(hi)}" if hi - lo > 5e-4 * abs(mean) else "")
