"""Curves of a sweep over a number: goodput, delay and retransmissions, a line for each combination
of the other swept values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ackclock.errors import InvalidValue
from ackclock.input import units
from ackclock.plot.sweep_chart import CurvePoint, Curves, swept
from ackclock.report.page import Chart
from ackclock.simulation.model_tables import drawn_range

if TYPE_CHECKING:
    from ackclock.documents.simulate import SweepCell

MIN_VALUES = 3
"""Minimum number of values of a curve."""
MAX_CURVES = 14
"""Maximum lines of a chart: two of each colour."""
LOG_RATIO = 50
"""Ratio of the largest to the smallest value from which on the axis is logarithmic."""
_METRICS = (
    ("goodput_bps", "Goodput", "Mb/s", 1e-6),
    ("rtt_p95_ms", "p95 RTT", "ms", 1.0),
    ("retransmission_rate", "Retransmitted segments", "%", 100.0),
)
_UNITS: tuple[tuple[Callable[[object], int], Sequence[tuple[str, float]]], ...] = (
    (units.time_ps, (("s", 1e12), ("ms", 1e9), ("us", 1e6))),
    (units.rate_bps, (("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0))),
    (units.size_bytes, (("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1.0))),
)


def curves(cells: Sequence[SweepCell], name_of: Callable[[Mapping[str, Any]], str]) -> list[Chart]:
    """A chart for each metric over the swept number with most values; none without a number of at
    least `MIN_VALUES` values. ``name_of`` names a combination of swept values.
    """
    numbers = {key: found for key in cells[0]["params"] if (found := numbers_of([c["params"][key] for c in cells]))}
    if not numbers:
        return []
    key = max(numbers, key=lambda name: len(set(numbers[name][0])))
    x, unit = numbers[key]
    others = [{name: value for name, value in cell["params"].items() if name != key} for cell in cells]
    lines = [name_of(other) or "all" for other in others]
    shown = list(dict.fromkeys(lines))[:MAX_CURVES]
    positive = [value for value in x if value > 0]
    log = len(positive) == len(x) and max(positive) >= LOG_RATIO * min(positive)
    made = []
    for metric, title, of, scale in _METRICS:
        rows: list[CurvePoint] = []
        for cell, at, line in zip(cells, x, lines, strict=True):
            estimate = cell["metrics"].get(metric)
            if estimate is None or estimate["mean"] is None or line not in shown:
                continue
            lo, hi = drawn_range(estimate)
            rows.append({"line": line, "x": at, "y": scale * estimate["mean"], "lo": scale * lo, "hi": scale * hi})
        if not rows:
            continue
        figure: Curves = {"x": f"{key} ({unit})" if unit else key, "y": f"{title} ({of})", "log_x": log, "rows": rows}
        made.append(Chart(f"{title} over {key}", _reading(len(shown), len(set(lines))), swept(figure)))
    return made


def _reading(shown: int, lines: int) -> str:
    reading = "Points are means over seeds, vertical lines their 95 % intervals."
    return reading + (f" The first {shown} of {lines} combinations of the other swept values." if lines > shown else "")


def numbers_of(values: Sequence[Any]) -> tuple[list[float], str] | None:
    """Swept values as numbers in one unit, with that unit; None if they are no numbers or have
    fewer than `MIN_VALUES` different values. A table such as a loss model counts as its ``mean``.

    >>> numbers_of(["256 kb/s", "1 Mb/s", "4 Mb/s"])
    ([0.256, 1.0, 4.0], 'Mb/s')
    >>> numbers_of(["reno", "cubic", "bbr"])
    """
    plain = [_mean_only(value) for value in values]
    if len({json.dumps(value, sort_keys=True) for value in plain}) < MIN_VALUES:
        return None
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in plain):
        return [float(value) for value in plain], ""
    if not all(isinstance(value, str) for value in plain):
        return None
    for parse, scales in _UNITS:
        try:
            exact = [parse(value) for value in plain]
        except InvalidValue:
            continue
        largest = max(map(abs, exact))
        unit, factor = next((scale for scale in scales if largest >= scale[1]), scales[-1])
        return [value / factor for value in exact], unit
    return None


def _mean_only(value: Any) -> Any:
    """The mean of a table whose other keys are names, such as that of a loss model."""
    if (
        isinstance(value, Mapping)
        and "mean" in value
        and all(isinstance(v, str) for k, v in value.items() if k != "mean")
    ):
        return value["mean"]
    return value
