"""Curves of a sweep over a number: goodput, delay and retransmissions, with a colour for each value
of another key, and a panel for each combination of the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock.axis_titles import is_share, key_title, with_unit, within
from ackclock.errors import InvalidValue
from ackclock.format import setting
from ackclock.input import units
from ackclock.plot.sweep_chart import CurvePoint, Curves, swept
from ackclock.report.page import Chart
from ackclock.simulation.model_tables import drawn_range

if TYPE_CHECKING:
    from ackclock.documents.simulate import SweepCell

MIN_VALUES = 3
"""Minimum number of values of a curve."""
MAX_CURVES = 14
"""Maximum lines of a chart of one panel: two of each colour."""
MAX_COLOURS = 7
"""Maximum lines of a chart that has panels for the other swept values."""
MAX_PANELS = 9
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
_DECIMAL_SIZES = (("MB", 1e6), ("kB", 1e3), ("B", 1.0))
"""Of sizes that are written so."""


@dataclass(frozen=True)
class Placing:
    """Where each swept key stands in a figure: as colour, and as panels; empty without one."""

    colour: str
    panels: Sequence[str]

    @classmethod
    def of(cls, points: Sequence[Mapping[str, Any]]) -> Placing:
        """One key as the colour, the congestion control before all others, then the one with most
        values that still have a colour each; the others together as panels.

        >>> points = [{"rate": rate, "tcp.variant": name} for rate in "abc" for name in "xy"]
        >>> Placing.of(points)
        Placing(colour='tcp.variant', panels=['rate'])
        """
        counts = {key: len({setting(point[key]) for point in points}) for key in points[0]}
        varied = [key for key, count in counts.items() if count > 1]
        if not varied:
            return cls("", ())
        few = [key for key in varied if counts[key] <= MAX_COLOURS] or varied[:1]
        colour = max(few, key=lambda key: (key.endswith("variant"), counts[key]))
        return cls(colour, [key for key in varied if key != colour])

    def line(self, point: Mapping[str, Any]) -> str:
        """The line of a point; "all" without a colour."""
        return setting(point[self.colour]) if self.colour else "all"

    def panel(self, point: Mapping[str, Any]) -> str:
        """The panel of a point; empty where there is one only."""
        if len(self.panels) < 2:
            return "".join(setting(point[key]) for key in self.panels)
        return ", ".join(f"{within(key_title(key))} {setting(point[key])}" for key in self.panels)

    @property
    def panels_title(self) -> str:
        """The title above the panels: of their key, if that is one."""
        return key_title(self.panels[0]) if len(self.panels) == 1 else ""

    @property
    def line_title(self) -> str:
        """The title of the legend."""
        return key_title(self.colour) if self.colour else ""


def curves(cells: Sequence[SweepCell]) -> list[Chart]:
    """A chart for each metric over the swept number with most values; none without a number of at
    least `MIN_VALUES` values. Another key has the colours, and the rest panels.
    """
    keys = number_keys(cells)
    if not keys:
        return []
    made = (curve(cells, keys[0], metric) for metric in _METRICS)
    return [Chart(title, reading, swept(figure)) for title, reading, figure in made if figure["rows"]]


def number_keys(cells: Sequence[SweepCell]) -> list[str]:
    """The swept keys that have numbers, those with most values first."""
    numbers = {key: found for key in cells[0]["params"] if (found := numbers_of([c["params"][key] for c in cells]))}
    return sorted(numbers, key=lambda name: -len(set(numbers[name][0])))


def curve(
    cells: Sequence[SweepCell], key: str, metric: tuple[str, str, str, float], by: str = ""
) -> tuple[str, str, Curves]:
    """The title, the reading and the lines of a metric (its name, title, unit and factor) over the
    swept number of a key of `number_keys`; ``by`` is the key of the colours, by default the usual
    one.
    """
    name, title, of, scale = metric
    x, unit = numbers_of([cell["params"][key] for cell in cells]) or ([], "")
    if is_share(key) and not unit:
        x, unit = [100.0 * value for value in x], "%"
    others = [{other: value for other, value in cell["params"].items() if other != key} for cell in cells]
    place = Placing.of(others)
    if by and by != place.colour:
        place = Placing(by, [other for other in (place.colour, *place.panels) if other not in ("", by)])
    lines, panels = ([part(other) for other in others] for part in (place.line, place.panel))
    shown = list(dict.fromkeys(lines))[: MAX_COLOURS if place.panels else MAX_CURVES]
    shown_panels = list(dict.fromkeys(panels))[:MAX_PANELS]
    positive = [value for value in x if value > 0]
    log = len(positive) == len(x) and max(positive) >= LOG_RATIO * min(positive)
    reading = _reading(len(shown), len(set(lines)), place.line_title) + _left_out(len(shown_panels), len(set(panels)))
    rows: list[CurvePoint] = []
    for cell, at, line, panel in zip(cells, x, lines, panels, strict=True):
        estimate = cell["metrics"].get(name)
        if estimate is None or estimate["mean"] is None or line not in shown or panel not in shown_panels:
            continue
        lo, hi = drawn_range(estimate)
        row: CurvePoint = {"line": line, "x": at, "y": scale * estimate["mean"], "lo": scale * lo, "hi": scale * hi}
        rows.append({**row, "panel": panel} if place.panels else row)
    figure: Curves = {
        "x": with_unit(key_title(key), unit),
        "y": with_unit(title, of),
        "log_x": log,
        "rows": rows,
        "lines": place.line_title,
        "panels": place.panels_title,
    }
    return f"{title} over {within(key_title(key))}", reading, figure


def _reading(shown: int, lines: int, title: str) -> str:
    reading = "Points are means over seeds, vertical lines their 95 % intervals."
    return reading + (f" The first {shown} of {lines} values of the {within(title)}." if lines > shown else "")


def _left_out(shown: int, panels: int) -> str:
    return (
        f" The first {shown} of {panels} combinations of the other values; the table has all." if panels > shown else ""
    )


def numbers_of(values: Sequence[Any]) -> tuple[list[float], str] | None:
    """Swept values as numbers in one unit, with that unit; None if they are no numbers or have
    fewer than `MIN_VALUES` different values. A table such as a loss model counts as its ``mean``.

    >>> numbers_of(["256 kb/s", "1 Mb/s", "4 Mb/s"])
    ([0.256, 1.0, 4.0], 'Mb/s')
    >>> numbers_of(["50 kB", "100 kB", "200 kB"]), numbers_of(["8 KiB", "16 KiB", "1 MB"])
    (([50.0, 100.0, 200.0], 'kB'), ([0.00782..., 0.01562..., 0.95367...], 'MiB'))
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
        if parse is units.size_bytes and not any("i" in value for value in plain):
            scales = _DECIMAL_SIZES
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
