"""Interactive charts for the report, by altair: the panels as Vega-Lite specifications, and the
script that draws them.

Specifications have the colours of white paper and a width for files; the page replaces both (see
`report/templates/page.js`).

The script (Vega, Vega-Lite and vega-embed) is bundled by vl-convert and inlined once per page, so
the page needs no network.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from importlib.metadata import version
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, NotRequired, ParamSpec, TypedDict, TypeVar

from ackclock.plot.theme import GRID, INK, MUTED, PALETTE, VEGA_DASHES, spread
from ackclock.plot.time_series import Panel
from ackclock.storage import user_cache

if TYPE_CHECKING:
    import altair as alt

P = ParamSpec("P")
Made = TypeVar("Made")
Row = Mapping[str, str | float | None]
"""A row of a chart's data."""
Style = Mapping[str, str | float | None]

WIDTH = 700
HEIGHT = 190
LABEL_ROOM = 240
LEGEND_COLUMNS = 9
"""Maximum names in a row of the legend."""
_ZOOM = "wheel![event.shiftKey]"
"""The wheel without a key scrolls the page instead of zooming a chart."""
CONFIG: Mapping[str, str | Style] = {
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": MUTED,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "gridColor": GRID,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "labelLimit": 320,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "labelLimit": 320,
    },
    "header": {"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal"},
    "title": {"color": INK, "subtitleColor": MUTED, "anchor": "start", "fontWeight": 600},
    "text": {"color": INK},
}
"""The style of all charts."""
NAME_LINES = 0.2
"""Height of a configuration's name of some lines, as a share of the chart's."""
LABELS = "labels"
"""The name of a layer that names the lines at their ends. On narrow paper a legend replaces it."""


_DRAW = "window.ackclockEmbed = vegaEmbed;"


@cache
def script() -> str:
    """JavaScript that defines ``ackclockEmbed``: vega-embed with Vega and Vega-Lite. Needs
    vl-convert.

    vl-convert needs 1.4 s to bundle it, so the bundle is kept in the user's cache folder.

    Raises:
        ImportError: vl-convert is not installed.
    """
    import vl_convert

    def bundle() -> bytes:
        # "</script" inside a string literal would end the page's script element early.
        return str(vl_convert.javascript_bundle(_DRAW)).replace("</script", "<\\/script").encode()

    return user_cache.kept("charts", f"{version('vl-convert-python')} {_DRAW}", "js", bundle).decode()


@dataclass(frozen=True, slots=True)
class Specification:
    """A chart as Vega-Lite, without the style: the page and `Plot` add `CONFIG`."""

    tree: Mapping[str, Any]

    @classmethod
    def of(cls, chart: alt.TopLevelMixin) -> Specification:
        """That of a chart of altair."""
        # The schema's address is never fetched, but a page that promises to need no network should
        # not name one.
        return cls(chart.to_dict(validate=False)).without("config", "$schema")

    def without(self, *keys: str) -> Specification:
        """The same without keys of its top."""
        return Specification({key: value for key, value in self.tree.items() if key not in keys})

    @property
    def datasets(self) -> Mapping[str, Sequence[Row]]:
        """The named data sets."""
        found: Mapping[str, Sequence[Row]] = self.tree.get("datasets", {})
        return found

    def rows(self) -> Iterator[Row]:
        """The rows of its data in order, each data set once; labels at the ends of lines are left
        out.
        """
        seen: list[Any] = []
        parts: list[Any] = [self.tree]
        while parts:
            part = parts.pop(0)
            further = [part["spec"]] if "spec" in part else []
            parts = [*further, *(inner for key in ("layer", "vconcat") for inner in part.get(key, ())), *parts]
            data = part.get("data")
            if not data or part.get("name") == LABELS or data in seen:
                continue
            seen.append(data)
            values = self.datasets[data["name"]] if "name" in data else data["values"]
            yield from csv.DictReader(io.StringIO(values)) if isinstance(values, str) else values


def unvalidated(chart: Callable[P, Made]) -> Callable[P, Made]:
    """Build a chart without altair's validation of each part, half of the time; a test validates
    every chart.
    """

    @wraps(chart)
    def build(*args: P.args, **kwargs: P.kwargs) -> Made:
        import warnings

        from altair.utils.schemapi import debug_mode

        with debug_mode(False), warnings.catch_warnings():
            # Charts that zoom together have one selection.
            warnings.filterwarnings("ignore", "Automatically deduplicated selection parameter")
            return chart(*args, **kwargs)

    return build


@unvalidated
def time_chart(panel: Panel, until: float | None = None, **axis: Any) -> Specification:
    """The Vega-Lite specification of one panel: lines over time, named at their ends, values on
    hover, zoomable in time. ``until`` is where the axis ends, if not with the lines; ``axis``
    changes the time axis.
    """
    import altair as alt

    lines = time_lines(panel, until or panel_end(panel), **axis)
    if len(panel.lines) < 2:
        return Specification.of(lines.properties(width=WIDTH, height=HEIGHT, padding=_PADDING))
    labels = (
        alt.Chart(alt.InlineData(values=_labels(panel)), name=LABELS)
        .mark_text(align="left", dx=6, fontSize=11, limit=LABEL_ROOM, clip=False)
        .encode(x=alt.value("width"), y=alt.Y("value:Q"), text="line:N", color=_line_colour(panel, None))
    )
    return Specification.of(alt.layer(lines, labels).properties(width=WIDTH, height=HEIGHT, padding=_PADDING))


# Right: a viewer of the SVG may have a wider font than the one that measured the labels.
_PADDING = {"right": 24, "left": 4, "top": 6, "bottom": 4}


def panel_end(panel: Panel) -> float:
    """The time of the last value of a panel's lines, in seconds."""
    return max(line.times[-1] for line in panel.lines if line.times)


def time_lines(
    panel: Panel, end: float, *, legend: bool = False, zoom: alt.Parameter | None = None, room: int = 0, **axis: Any
) -> alt.Chart:
    """The lines of a panel as a chart of altair, from 0 s to ``end``. Charts with the same ``zoom``
    (see `time_zoom`) zoom together; with ``room`` the labels of their values have equal room, in
    pixels; ``axis`` changes the time axis.

    Time and values are inlined as CSV, a third of the size of JSON.
    """
    import altair as alt

    # Equal for colour and dash: Vega-Lite warns of a field with two legends.
    shown = alt.Legend(title=None, orient="top", symbolType="stroke") if legend else None
    colour = _line_colour(panel, shown)
    names = [line.name for line in panel.lines]
    dashes = alt.Scale(domain=names, range=list(VEGA_DASHES[: len(names)]))
    dash = alt.StrokeDash("line:N", scale=dashes, legend=shown)
    time = alt.X(
        "time_s:Q",
        scale=alt.Scale(domain=[0, end], nice=False),
        **{"title": "Time (s)", "axis": alt.Axis(grid=False, tickCount=8), **axis},
    )
    extent = room or alt.Undefined
    value = alt.Y(
        "value:Q",
        title=f"{panel.title} ({panel.unit})",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(tickCount=5, minExtent=extent, maxExtent=extent),
    )
    hover = [
        alt.Tooltip("line:N", title="line"),
        alt.Tooltip("time_s:Q", title="time (s)", format=".2f"),
        alt.Tooltip("value:Q", title=panel.unit, format=".4~g"),
    ]
    parse = {"time_s": "number", "value": "number", "line": "string"}
    lines: alt.Chart = (
        alt.Chart(alt.InlineData(values=_csv(panel), format=alt.CsvDataFormat(type="csv", parse=parse)))
        .mark_line(
            strokeWidth=1.4,
            clip=True,
            interpolate="step-after" if panel.style == "steps" else alt.Undefined,
            point=alt.OverlayMarkDef(size=9) if panel.style == "samples" else alt.Undefined,
        )
        .encode(x=time, y=value, color=colour, strokeDash=dash, tooltip=hover)
        .add_params(time_zoom() if zoom is None else zoom)
    )
    return lines


def time_zoom() -> alt.Parameter:
    """Zoom and move along the time axis."""
    import altair as alt

    return alt.selection_interval(bind="scales", encodings=["x"], zoom=_ZOOM)


def _line_colour(panel: Panel, legend: alt.Legend | None) -> alt.Color:
    import altair as alt

    names = [line.name for line in panel.lines]
    colours = [PALETTE[i % len(PALETTE)] for i in range(len(names))]
    return alt.Color("line:N", scale=alt.Scale(domain=names, range=colours), legend=legend)


def _csv(panel: Panel) -> str:
    rows = ["time_s,value,line"]
    for line in panel.lines:
        name = '"' + line.name.replace('"', '""') + '"'
        rows += [
            f"{round(t, 4):.10g},{'' if isnan(v) else f'{v:.5g}'},{name}"
            for t, v in zip(line.times, line.values, strict=True)
        ]
    return "\n".join(rows)


def _labels(panel: Panel) -> list[dict[str, str | float]]:
    shown = [line for line in panel.lines if line.values]
    top = max(max(line.values) for line in shown)
    at = spread([line.values[-1] for line in shown], 0.075 * top)
    # The page's scale starts at zero; a label pushed below it would move the axis.
    lift = max(0.0, -min(at))
    return [{"line": line.name, "value": y + lift} for line, y in zip(shown, at, strict=True)]


class GoodputAndDelay(TypedDict):
    """A point of a chart of both: Mb/s and ms."""

    goodput: float
    rtt: float


class ConfigurationPoint(GoodputAndDelay):
    """A configuration with its 95 % intervals."""

    label: str
    variant: str
    goodput_lo: float
    goodput_hi: float
    rtt_lo: float
    rtt_hi: float


Point = TypeVar("Point", bound=GoodputAndDelay)


@unvalidated
def trade_off(rows: Sequence[ConfigurationPoint], recommended: str | None = None) -> Specification:
    """Goodput against p95 RTT, a point per configuration with its 95 % intervals: up and to the
    left is better. The configuration with the label ``recommended`` has a ring and its name.
    """
    import altair as alt

    variants = sorted({str(row["variant"]) for row in rows})
    base = alt.Chart(alt.InlineData(values=list(rows)))
    # Intervals of few seeds would flatten the points: what is beyond twice the means is cut.
    low = min(row["rtt"] for row in rows)
    low = max(min(row["rtt_lo"] for row in rows), 0.5 * low)
    high = min(max(row["rtt_hi"] for row in rows), 2.0 * max(row["rtt"] for row in rows))
    top = min(max(row["goodput_hi"] for row in rows), 2.0 * max(row["goodput"] for row in rows))
    # Room for the names on the right, and none for negative times on the left.
    domain = [max(0.0, low - 0.06 * (high - low)), high + 0.25 * (high - low) + 1e-3]
    x = alt.X(
        "rtt:Q",
        title="95th percentile of the RTT (ms)",
        scale=alt.Scale(domain=domain, nice=False),
        axis=alt.Axis(grid=False, labelSeparation=8),
    )
    y = alt.Y("goodput:Q", title="Goodput (Mb/s)", scale=alt.Scale(domain=[0, 1.05 * top or 1], nice=True))
    legend = alt.Legend(title=None, orient="top", columns=LEGEND_COLUMNS)
    colour = alt.Color(
        "variant:N",
        scale=alt.Scale(domain=variants, range=[PALETTE[i % len(PALETTE)] for i in range(len(variants))]),
        legend=legend,
    )
    hover = [
        alt.Tooltip("label:N", title="configuration"),
        alt.Tooltip("goodput:Q", title="goodput (Mb/s)", format=".4~g"),
        alt.Tooltip("rtt:Q", title="p95 RTT (ms)", format=".4~g"),
    ]
    shape = alt.Shape("variant:N", scale=alt.Scale(domain=variants), legend=legend)
    across = base.mark_rule(strokeWidth=1, opacity=0.6, clip=True).encode(
        x="rtt_lo:Q", x2="rtt_hi:Q", y=y, color=colour
    )
    along = base.mark_rule(strokeWidth=1, opacity=0.6, clip=True).encode(
        x=x, y="goodput_lo:Q", y2="goodput_hi:Q", color=colour
    )
    points = base.mark_point(filled=True, size=70, opacity=0.9).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=hover
    )
    chosen = [row for row in rows if row["label"] == recommended]
    ring = alt.Chart(alt.InlineData(values=chosen)).mark_point(size=230, strokeWidth=1.6, color=INK, opacity=1.0)
    layers = [across, along, points, *([ring.encode(x=x, y=y)] if chosen else [])]
    sides: tuple[tuple[Literal["left", "right"], int], ...] = (("left", 1), ("right", -1))
    for align, side in sides:
        room = (0.35 * (domain[1] - domain[0]), NAME_LINES * 1.05 * top)
        named = [row for row in _named(rows, recommended, room) if (row["rtt"] < sum(domain) / 2) == (side > 0)]
        if named:
            texts = [{**row, "name": _in_lines(row["label"], row["label"] == recommended)} for row in named]
            mark = alt.Chart(alt.InlineData(values=texts)).mark_text(
                align=align, baseline="top", dx=11 * side, dy=4, fontSize=11, lineBreak="\n", color=INK
            )
            layers.append(mark.encode(x=x, y=y, text="name:N"))
    return Specification.of(alt.layer(*layers).properties(width=WIDTH, height=300))


def _named(
    rows: Sequence[ConfigurationPoint], recommended: str | None, room: tuple[float, float]
) -> list[ConfigurationPoint]:
    """The configurations that have a name: the recommended one, and those of the Pareto front of
    goodput and delay whose names do not lie on another. ``room`` is a name's, in ms and Mb/s.
    """
    named = [row for row in rows if row["label"] == recommended]
    for row in reversed(_front(rows)):
        apart = [(abs(row["rtt"] - other["rtt"]), abs(row["goodput"] - other["goodput"])) for other in named]
        if all(across > room[0] or along > room[1] for across, along in apart):
            named.append(row)
    return named


def _in_lines(label: str, recommended: bool) -> str:
    lines = label.replace(", ", "\n")
    return f"recommended:\n{lines}" if recommended else lines


class Bar(TypedDict):
    """A mean with its 95 % interval, and the model's value, if any."""

    label: str
    mean: float
    lo: float
    hi: float
    model: NotRequired[float]


@unvalidated
def bars(rows: Sequence[Bar], title: str) -> Specification:
    """A dot with its 95 % interval per row, best on top, and a hollow mark for the model where the
    row has one. ``rows`` are in display order.
    """
    import altair as alt

    order = [str(row["label"]) for row in rows]
    base = alt.Chart(alt.InlineData(values=list(rows)))
    y = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(grid=True))
    means = [value for row in rows for value in (row["mean"], row.get("model")) if value is not None]
    top = min(max(float(row["hi"]) for row in rows), 2.0 * max(means)) or 1.0
    scale = alt.Scale(domain=[0, 1.03 * max(top, *means)], nice=True)
    ranges = base.mark_rule(strokeWidth=2, color=PALETTE[0], opacity=0.6, clip=True).encode(
        x=alt.X("lo:Q", title=title, scale=scale), x2="hi:Q", y=y
    )
    hover = [alt.Tooltip("label:N", title="configuration"), alt.Tooltip("mean:Q", title=title, format=".4~g")]
    dots = base.mark_point(filled=True, size=55, color=PALETTE[0], opacity=1.0).encode(x="mean:Q", y=y, tooltip=hover)
    layers = [ranges, dots]
    if modelled := [row for row in rows if "model" in row]:
        model_tooltip = [hover[0], alt.Tooltip("model:Q", title="Padhye's model", format=".4~g")]
        marks = alt.Chart(alt.InlineData(values=modelled)).mark_point(
            shape="diamond", size=60, color=PALETTE[1], strokeWidth=1.4
        )
        layers.append(marks.encode(x="model:Q", y=y, tooltip=model_tooltip))
    return Specification.of(alt.layer(*layers).properties(width=WIDTH - 100, height=17 * len(rows)))


@unvalidated
def histogram(bars: Sequence[tuple[str, int]], across: str, up: str) -> Specification:
    """A histogram: counts by bin, in the given order."""
    import altair as alt

    rows = [{"bin": name, "count": count} for name, count in bars]
    x = alt.X(
        "bin:N",
        sort=[name for name, _ in bars],
        title=across,
        axis=alt.Axis(labelAngle=0, labelOverlap="parity", labelSeparation=3),
    )
    y = alt.Y("count:Q", title=up, axis=alt.Axis(tickCount=5))
    hover = [alt.Tooltip("bin:N", title=across), alt.Tooltip("count:Q", title=up)]
    drawn = alt.Chart(alt.InlineData(values=rows)).mark_bar(color=PALETTE[0]).encode(x=x, y=y, tooltip=hover)
    return Specification.of(drawn.properties(width=WIDTH, height=HEIGHT))


class FeltRow(TypedDict):
    """What people feel of an application on one side of a comparison; None: it never ended."""

    side: str
    value: float | None
    text: str
    met: bool


@unvalidated
def before_and_after(parts: Sequence[tuple[str, float, float, Sequence[FeltRow]]]) -> Specification:
    """A bar for each side of each application, its text above it, green where the target is met.

    ``parts`` have the title of an application's axis, its minimum and maximum (infinite: that of
    the values) and its rows in display order.
    """
    import altair as alt

    charts = []
    for title, lo, hi, rows in parts:
        top = hi if hi < float("inf") else 1.05 * max((row["value"] or 0.0 for row in rows), default=0.0) or 1.0
        thinnest = lo + 0.004 * (top - lo)
        ends = [max(top if row["value"] is None else row["value"], thinnest) for row in rows]
        drawn = [{**row, "row": at, "from": lo, "to": ends[at]} for at, row in enumerate(rows)]
        base = alt.Chart(alt.InlineData(values=drawn))
        y = alt.Y("row:O", title=None, axis=None)
        colour = alt.condition("datum.met", alt.value(PALETTE[2]), alt.value(PALETTE[1]))
        axis = alt.Axis(format="%" if hi == 1.0 else "~g", tickCount=5)
        x = alt.X("to:Q", title=None, scale=alt.Scale(domain=[lo, top], nice=False), axis=axis)
        bar = base.mark_bar(height=9, yOffset=9).encode(x=x, x2="from", y=y, color=colour)
        text = base.mark_text(align="left", dx=1, dy=-6, fontSize=12).encode(x=alt.value(0), y=y, text="text:N")
        charts.append(alt.layer(bar, text).properties(width=WIDTH, height=38 * len(rows), title=title))
    return Specification.of(alt.vconcat(*charts, spacing=18))


class DifferenceRow(TypedDict):
    """A difference with its 95 % interval, in percent."""

    label: str
    verdict: str
    mean: float
    lo: float
    hi: float


@unvalidated
def differences(rows: Sequence[DifferenceRow]) -> Specification:
    """A dot with its interval per row around zero. ``rows`` are in display order."""
    import altair as alt

    verdicts = ["differs", "no more than chance"]
    # A figure that is a hundred times as large would flatten the others.
    far = sorted(max(abs(row["lo"]), abs(row["hi"])) for row in rows)[int(0.8 * (len(rows) - 1))]
    bound = max(1.0, min(max(max(abs(row["lo"]), abs(row["hi"])) for row in rows), 3.0 * far))
    base = alt.Chart(alt.InlineData(values=list(rows)))
    y = alt.Y("label:N", sort=[str(row["label"]) for row in rows], title=None, axis=alt.Axis(grid=True))
    x = alt.X("mean:Q", title="B - A (% of A)", scale=alt.Scale(domain=[-bound, bound], clamp=True))
    colour = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=verdicts, range=[PALETTE[1], MUTED]),
        legend=alt.Legend(title=None, orient="top", symbolType="circle"),
    )
    hover = [
        alt.Tooltip("label:N", title="figure"),
        *(
            alt.Tooltip(f"{name}:Q", title=f"{title} (%)", format="+.3~g")
            for name, title in (("mean", "B - A"), ("lo", "from"), ("hi", "to"))
        ),
    ]
    ranges = base.mark_rule(strokeWidth=2, opacity=0.7, clip=True).encode(x=x.copy(), x2="hi:Q", y=y, color=colour)
    ranges.encoding.x.shorthand = "lo:Q"
    dots = base.mark_point(filled=True, size=55, opacity=1.0).encode(x=x, y=y, color=colour, tooltip=hover)
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=INK, strokeWidth=1).encode(x=alt.X("zero:Q"))
    return Specification.of(alt.layer(zero, ranges, dots).properties(width=WIDTH - 100, height=18 * len(rows)))


class ChangePoint(GoodputAndDelay):
    """A change: its `role` ("as it is", "advised", "tried"), and the name that is shown beside the
    point, or empty.
    """

    change: str
    role: str
    name: str


@unvalidated
def pareto(rows: Sequence[ChangePoint]) -> Specification:
    """Goodput over the delay of a sparse flow, a point for each change, with the front of those
    that no other surpasses in both.
    """
    import altair as alt

    roles = {"as it is": PALETTE[6], "advised": PALETTE[1], "tried": PALETTE[0]}
    x = alt.X(
        "rtt:Q",
        title="p95 RTT of a sparse flow (ms)",
        scale=alt.Scale(type="log", padding=14, nice=False),
        axis=alt.Axis(grid=False, format="~g", labelSeparation=5),
    )
    y = alt.Y("goodput:Q", title="Goodput (Mb/s)", scale=alt.Scale(zero=False, padding=14))
    colour = alt.Color(
        "role:N",
        scale=alt.Scale(domain=list(roles), range=list(roles.values())),
        legend=alt.Legend(title=None, orient="top", symbolType="circle"),
    )
    hover = [
        alt.Tooltip("change:N", title="change"),
        alt.Tooltip("goodput:Q", title="goodput (Mb/s)", format=".4~g"),
        alt.Tooltip("rtt:Q", title="p95 RTT (ms)", format=".4~g"),
    ]
    base = alt.Chart(alt.InlineData(values=[{**row, "area": 45 if row["role"] == "tried" else 150} for row in rows]))
    points = base.mark_point(filled=True, opacity=0.85).encode(
        x=x, y=y, color=colour, tooltip=hover, size=alt.Size("area:Q", scale=None, legend=None)
    )
    front = [{"goodput": row["goodput"], "rtt": row["rtt"]} for row in _front(rows)]
    line = alt.Chart(alt.InlineData(values=front)).mark_line(color=MUTED, strokeDash=[4, 3], strokeWidth=1.2)
    named = [row for row in rows if row["name"]]
    names = alt.Chart(alt.InlineData(values=named)).mark_text(
        align="left", dx=10, dy=-8, fontSize=11, limit=300, color=INK
    )
    return Specification.of(
        alt.layer(line.encode(x=x, y=y), points, names.encode(x=x, y=y, text="name:N")).properties(
            width=WIDTH, height=320
        )
    )


def _front(rows: Sequence[Point]) -> list[Point]:
    """The rows that no other surpasses in goodput and delay, by delay."""
    front: list[Point] = []
    for row in sorted(rows, key=lambda row: (row["rtt"], -row["goodput"])):
        if not front or row["goodput"] > front[-1]["goodput"]:
            front.append(row)
    return front
