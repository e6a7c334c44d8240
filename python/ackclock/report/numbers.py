"""Numbers as a reader wants them: three significant digits, a unit that fits, an interval that says what it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ackclock.report.page import Cell


def significant(value: float, digits: int) -> str:
    """``digits`` significant digits without an exponent: 0.0123, 1.23, 12.3, 123, 12300 for three."""
    if not math.isfinite(value):
        return "-"
    if value == 0.0:
        return "0"
    # By the exponent of the rounded value: 9.996 is 10.0, not 10.00.
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{value:.{min(max(0, digits - 1 - exponent), 6)}f}"


def three(value: float) -> str:
    """Three significant digits: what a measured mean deserves."""
    return significant(value, 3)


def rate(bps: float | None) -> str:
    """Bit/s with the prefix that leaves one to three digits before the point."""
    if bps is None or not math.isfinite(bps):
        return "-"
    for factor, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if abs(bps) >= factor:
            return f"{three(bps / factor)} {unit}"
    return f"{three(bps)} b/s"


def percent(share: float | None) -> str:
    """A share (0..1) in percent."""
    return "-" if share is None or not math.isfinite(share) else f"{three(100.0 * share)} %"


def milliseconds(value: float | None) -> str:
    """Milliseconds, whole above ten; below a tenth one digit says enough."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.0f} ms" if abs(value) >= 10.0 else f"{significant(value, 3 if abs(value) >= 0.1 else 1)} ms"


def measured(metric: Mapping[str, Any] | None, scale: float = 1.0) -> Cell:
    """A metric's mean with its 95 % interval below it; several modes are named instead of an interval that hides
    them.
    """
    if metric is None or metric.get("mean") is None:
        return Cell("-", tone="muted")
    mean, lo, hi = (scale * float(metric[key]) for key in ("mean", "lo", "hi"))
    lo = max(lo, 0.0) if mean >= 0.0 else lo  # no rate, time or share is negative; Student's t does not know
    if metric.get("modes"):
        said = " or ".join(f"{three(scale * m['mean'])} ({m['n']} runs)" for m in metric["modes"])
        return Cell(three(mean), f"two modes: {said}")
    if int(metric.get("n", 1)) < 2:
        return Cell(three(mean), "one run")
    return Cell(three(mean), f"{three(lo)} to {three(hi)}" if hi - lo > 5e-4 * abs(mean) else "")
