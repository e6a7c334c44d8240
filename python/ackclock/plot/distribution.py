"""Distributions of samples and clouds of points, in panels: CDF, boxes, scatter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ackclock.plot.sweep_chart import (
    CurvePoint,
    Curves,
    in_panels,
    in_width,
    line_colours,
    line_legend,
    swept,
)
from ackclock.plot.theme import INK
from ackclock.plot.vega import WIDTH, Specification, unvalidated

MAX_STEPS = 250
"""Maximum points of a line of a CDF."""
BOX_HEIGHT = 26
LOG_RATIO = 50
"""Ratio of the 99th to the 1st percentile from which on an axis is logarithmic."""
CLOUD_HEIGHT = 260
PLAIN = "format(datum.value, ',.6~g')"
"""A tick's number without an exponent."""


@dataclass(frozen=True)
class Group:
    """The samples of a line in a panel; ``panel`` is empty where there is one only."""

    line: str
    panel: str
    values: Sequence[float]


@dataclass(frozen=True)
class Titles:
    """Titles of a figure: those of its axes, of the legend and of the panels."""

    x: str
    y: str
    lines: str = ""
    panels: str = ""


def cdf(groups: Sequence[Group], titles: Titles, width: int = WIDTH, height: int = 0) -> Specification:
    """The share of the samples that are at most x, a line for each group."""
    rows: list[CurvePoint] = []
    for group in groups:
        ordered = sorted(group.values)
        ranks = _ranks(len(ordered))
        # From 0 at the smallest value, so that a step is seen where all values are equal.
        points = [(ordered[0], 0.0), *((ordered[rank], 100.0 * (rank + 1) / len(ordered)) for rank in ranks)]
        for x, y in points:
            row: CurvePoint = {"line": group.line, "x": float(f"{x:.5g}"), "y": round(y, 3), "lo": None, "hi": None}
            rows.append({**row, "panel": group.panel} if group.panel else row)
    figure: Curves = {
        "x": titles.x,
        "y": "Samples at most this (%)",
        "log_x": is_wide(groups),
        "rows": rows,
        "trace": True,
        "top": 100.0,
        "lines": titles.lines,
        "panels": titles.panels,
    }
    return swept(figure, width, height)


def _ranks(count: int) -> list[int]:
    """The first and the last rank, and evenly spaced ones between them."""
    if count <= MAX_STEPS:
        return list(range(count))
    step = (count - 1) / (MAX_STEPS - 1)
    return sorted({round(at * step) for at in range(MAX_STEPS)})


def is_wide(groups: Sequence[Group]) -> bool:
    """Whether the samples need a logarithmic axis."""
    every = sorted(value for group in groups for value in group.values)
    low, high = every[int(0.01 * (len(every) - 1))], every[int(0.99 * (len(every) - 1))]
    return low > 0.0 and every[0] > 0.0 and high >= LOG_RATIO * low


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@unvalidated
def boxes(groups: Sequence[Group], titles: Titles, width: int = WIDTH) -> Specification:
    """A box for each group: median, quartiles, and the 5th and 95th percentile at the ends of the
    line.
    """
    import altair as alt

    names = list(dict.fromkeys(group.line for group in groups))
    rows = []
    for group in groups:
        low, first, median, third, high = quantiles(group.values)
        row = {"line": group.line, "low": low, "first": first, "median": median, "third": third, "high": high}
        rows.append({**row, "panel": group.panel} if group.panel else row)
    scale = alt.Scale(type="log", nice=True) if is_wide(groups) else alt.Scale(zero=True, nice=True)
    axis = alt.Axis(grid=True, tickCount=5, labelExpr=PLAIN)
    y = alt.Y("line:N", sort=names, title=titles.lines or None, axis=alt.Axis(labelLimit=int(0.4 * width)))
    shades = line_colours(names)
    colour = alt.Color("line:N", scale=alt.Scale(domain=names, range=list(shades.values())), legend=None)
    hover = [
        alt.Tooltip(f"{name}:Q", title=title, format=".4~g")
        for name, title in (
            ("low", "5th percentile"),
            ("first", "1st quartile"),
            ("median", "median"),
            ("third", "3rd quartile"),
            ("high", "95th percentile"),
        )
    ]
    panels = list(dict.fromkeys(group.panel for group in groups if group.panel))
    base = alt.Chart() if panels else alt.Chart(alt.InlineData(values=rows))
    title = in_width(titles.x, len(panels), width)
    x = alt.X("low:Q", title=title, scale=scale, axis=axis)
    layers = [
        base.mark_rule(strokeWidth=1.4).encode(x=x, x2="high:Q", y=y, color=colour),
        base.mark_bar(height=13, opacity=0.75).encode(
            x=alt.X("first:Q", title=title), x2="third:Q", y=y, color=colour, tooltip=hover
        ),
        base.mark_tick(thickness=2, size=15, color=INK).encode(x=alt.X("median:Q", title=title), y=y),
    ]
    height = BOX_HEIGHT * len(names) + 8
    if panels:
        return in_panels(layers, rows, panels, titles.panels, width, height)
    return Specification.of(alt.layer(*layers).properties(width=width, height=height))


def quantiles(values: Sequence[float]) -> list[float]:
    """`QUANTILES` of some values by nearest rank, as in all of the program's tables.

    >>> quantiles([5.0, 4.0, 3.0, 2.0, 1.0])
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    ordered = sorted(values)
    ranks = (max(1, math.ceil(share * len(ordered) - 1e-9)) for share in QUANTILES)
    return [float(f"{ordered[rank - 1]:.5g}") for rank in ranks]


@unvalidated
def scatter(
    points: Sequence[Mapping[str, float | str]], titles: Titles, width: int = WIDTH, height: int = 0
) -> Specification:
    """A small point for each run and a large one for the mean of each line. ``points`` have x, y,
    line, and panel where there are several.
    """
    import altair as alt

    names = list(dict.fromkeys(str(point["line"]) for point in points))
    panels = list(dict.fromkeys(str(point["panel"]) for point in points if "panel" in point))
    means = _means(points)
    rows = [{**point, "area": 14} for point in points] + [{**point, "area": 90} for point in means]
    every = [float(point["x"]) for point in points]
    log = min(every) > 0.0 and max(every) >= LOG_RATIO * min(every)
    scale = alt.Scale(type="log", padding=14) if log else alt.Scale(zero=False, padding=14, nice=True)
    axis = alt.Axis(grid=False, tickCount=5, labelExpr=PLAIN, labelSeparation=6)
    legend = line_legend(names, titles.lines, width) if len(names) > 1 or titles.lines else None
    shades = line_colours(names)
    on = {
        "x": alt.X("x:Q", title=in_width(titles.x, len(panels), width), scale=scale, axis=axis),
        "y": alt.Y("y:Q", title=titles.y, scale=alt.Scale(zero=True)),
        "color": alt.Color("line:N", scale=alt.Scale(domain=names, range=list(shades.values())), legend=legend),
        "shape": alt.Shape("line:N", scale=alt.Scale(domain=names), legend=legend),
        "size": alt.Size("area:Q", scale=None, legend=None),
        "tooltip": [
            alt.Tooltip("line:N", title=titles.lines or "line"),
            alt.Tooltip("x:Q", title=titles.x, format=".4~g"),
            alt.Tooltip("y:Q", title=titles.y, format=".4~g"),
        ],
    }
    base = alt.Chart() if panels else alt.Chart(alt.InlineData(values=rows))
    cloud = base.mark_point(filled=True, opacity=0.8).encode(**on)
    if panels:
        return in_panels([cloud], rows, panels, titles.panels, width, height)
    return Specification.of(cloud.properties(width=width, height=height or CLOUD_HEIGHT))


def _means(points: Sequence[Mapping[str, float | str]]) -> list[dict[str, float | str]]:
    """The mean of the points of each line in each panel; none of a single point."""
    of: dict[tuple[str, str], list[Mapping[str, float | str]]] = {}
    for point in points:
        of.setdefault((str(point["line"]), str(point.get("panel", ""))), []).append(point)
    return [
        {**some[0], **{axis: math.fsum(float(one[axis]) for one in some) / len(some) for axis in ("x", "y")}}
        for some in of.values()
        if len(some) > 1
    ]
