"""Lines over a swept value or over time, in panels or with the paper's values: a Vega-Lite
specification for the report.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from ackclock.plot.theme import INK, MUTED
from ackclock.plot.vega import LEGEND_COLUMNS, WIDTH, Specification

if TYPE_CHECKING:
    import altair as alt

HEIGHT = 260
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#8B5A2B", "#000000")
"""Colours of lines: the theme's without its second blue and its grey; a paper's are grey."""
DASHED = (5, [7, 4])
"""From this line on lines are dashed, so that one that lies on another is seen."""
STATED = [5, 4]
"""The dashes of a paper's numbers."""
NAMED_PLACES = 12
PANEL_HEIGHT = 170
PANEL_GAP = 30
MIN_PANEL = 120
"""Minimum pixels of a panel with the gap beside it."""
MAX_COLUMNS = 3
"""Panels beside each other."""
SYMBOL = 34
"""Pixels of a legend's symbol with the room around it."""
LETTER = 6.6
"""Mean pixels of a letter in a legend."""


class CurvePoint(TypedDict):
    """A point of a line with its interval; one of the paper's own has ``paper``, one of a figure of
    several panels the name of its ``panel``.
    """

    line: str
    x: float
    y: float | None
    lo: float | None
    hi: float | None
    paper: NotRequired[bool]
    panel: NotRequired[str]


class FigureAxes(TypedDict):
    """The axes of a figure. ``x`` and ``y`` are titles, ``lines`` that of the legend and ``panels``
    that of the panels.

    A ``trace`` has no marks at its points; what is above ``top`` is cut off. ``ticks`` are
    positions on the x axis with labels that are not numbers; where ``joined`` is false points have
    no line between them.
    """

    x: str
    y: str
    log_x: bool
    trace: NotRequired[bool]
    top: NotRequired[float]
    ticks: NotRequired[Sequence[Sequence[float | str]]]
    joined: NotRequired[bool]
    lines: NotRequired[str]
    panels: NotRequired[str]


class Curves(FigureAxes):
    """What `swept` draws."""

    rows: list[CurvePoint]


def swept(figure: Curves, width: int = WIDTH, height: int = 0) -> Specification:
    """The lines of a figure. The paper's own are dashed, in their line's colour or in grey.

    Points with a ``panel`` are drawn in panels with common axes, as many beside each other as
    ``width`` pixels have room for. ``height`` is that of a panel, by default one that suits it.
    """
    import altair as alt

    rows = [row for row in figure["rows"] if row["y"] is not None]
    ours, theirs = ([row for row in rows if bool(row.get("paper")) is paper] for paper in (False, True))
    names, papers = (list(dict.fromkeys(str(row["line"]) for row in of)) for of in (ours, theirs))
    panels = list(dict.fromkeys(row["panel"] for row in ours if "panel" in row))
    legend = _legend(names, papers, figure.get("lines"), width)
    on = {
        "x": _x(figure, ours, in_width(figure["x"], len(panels), width)),
        "y": _y(figure),
        "color": _colour(names, papers, legend),
    }
    dash = alt.StrokeDash("line:N", scale=_dashes(names, papers), legend=legend)
    base = alt.Chart() if panels else alt.Chart(alt.InlineData(values=ours))
    line = base.mark_line(strokeWidth=1.2 if figure.get("trace") else 1.4, clip=True)
    # Lines that join nothing still make the legend.
    layers = [line.encode(**on, strokeDash=dash, **({} if figure.get("joined", True) else {"detail": "x:Q"}))]
    if not figure.get("trace"):
        layers.append(
            base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(x=on["x"], y="lo:Q", y2="hi:Q", color=on["color"])
        )
        layers.append(base.mark_point(filled=True, size=45, opacity=0.9).encode(**on, tooltip=_hover(figure)))
    if theirs:
        stated = alt.Chart(alt.InlineData(values=theirs))
        layers.append(stated.mark_line(strokeWidth=1.2).encode(**on, strokeDash=dash))
        layers.append(stated.mark_point(shape="diamond", size=50, filled=False).encode(**on, tooltip=_hover(figure)))
    if panels:
        return in_panels(layers, ours, panels, figure.get("panels", ""), width, height)
    return Specification.of(alt.layer(*layers).properties(width=width, height=height or HEIGHT))


def in_panels(
    layers: Sequence[alt.Chart],
    rows: Sequence[Mapping[str, Any]],
    panels: Sequence[str],
    title: str,
    width: int = WIDTH,
    height: int = 0,
) -> Specification:
    """Small multiples: the layers, which have no data of their own, for the rows of each panel by
    its name in ``panel``, with common axes.
    """
    import altair as alt

    columns = panel_columns(len(panels), width)
    each = _panel_width(len(panels), width)
    in_lines = any(LETTER * len(name) > each for name in panels)
    header = alt.Header(
        title=title or None,
        titleFontSize=12,
        labelFontSize=11,
        labelPadding=4,
        labelLimit=each + PANEL_GAP,
        labelExpr="split(datum.label, ', ')" if in_lines else alt.Undefined,
    )
    chart = (
        alt.layer(*layers, data=alt.InlineData(values=list(rows)))
        .properties(width=each, height=height or PANEL_HEIGHT)
        .facet(alt.Facet("panel:N", sort=list(panels), title=title or None, header=header), columns=columns)
    )
    return Specification.of(chart)


def in_width(title: str, panels: int, width: int) -> str | list[str]:
    """A title of the x axis, in lines that fit below one of some panels."""
    letters = int((_panel_width(panels, width) + PANEL_GAP // 2) / LETTER)
    lines = textwrap.wrap(title, max(12, letters))
    return lines if len(lines) > 1 else title


def _panel_width(panels: int, width: int) -> int:
    columns = panel_columns(max(1, panels), width)
    return max(60, (width - PANEL_GAP * (columns - 1)) // columns)


def panel_columns(panels: int, width: int) -> int:
    """How many of some panels stand beside each other: the rows are filled, where that can be."""
    limit = max(1, min(MAX_COLUMNS, width // MIN_PANEL))
    rows = -(-panels // limit)
    return -(-panels // rows)


def _x(figure: Curves, rows: Sequence[CurvePoint], title: str | list[str]) -> alt.X:
    """A few integer positions on a linear axis have a label each."""
    import altair as alt

    places = sorted({row["x"] for row in rows})
    log = bool(figure["log_x"])
    labels = {float(x): str(label) for x, label in figure.get("ticks", ())}
    if log and len(places) > NAMED_PLACES:
        places = log_ticks(places[0], places[-1])
    few = 0 < len(places) <= NAMED_PLACES and (log or all(float(place).is_integer() for place in places))
    # Vega rounds the labels of few ticks to their distance, and prints 16 as 2e+1.
    expression = "format(datum.value, '~g')" if few else ""
    if labels:
        expression = f"{json.dumps([labels.get(x, f'{x:g}') for x in places])}[indexof({places}, datum.value)]"
    axis = alt.Axis(
        grid=False,
        **({"values": places} if few or labels else {"tickCount": 6}),
        labelExpr=expression or alt.Undefined,
        format="~g" if log and not expression else alt.Undefined,
    )
    scale = alt.Scale(type="log" if log else "linear", nice=False, padding=12)
    return alt.X("x:Q", title=title, scale=scale, axis=axis)


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten in a range; twice and five times of them, too, in less than three decades.

    >>> log_ticks(30, 1500)
    [50.0, 100.0, 200.0, 500.0, 1000.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high < 1000 * low else (1,)
    return [tick for decade in decades for step in steps if low <= (tick := float(f"{step}e{decade}")) <= high]


def _y(figure: Curves) -> alt.Y:
    import altair as alt

    top = figure.get("top")
    if figure["y"] == "Jain's index":
        top = 1.0
    scale = alt.Scale(domain=[0, top]) if top else alt.Scale(zero=True)
    return alt.Y("y:Q", title=figure["y"], scale=scale)


def line_colours(names: Sequence[str]) -> dict[str, str]:
    """The colour of each line."""
    return {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(names)}


def _colour(names: Sequence[str], papers: Sequence[str], legend: alt.Legend | None) -> alt.Color:
    import altair as alt

    own = line_colours(names)
    grey = [MUTED if at % 2 == 0 else INK for at in range(len(papers))]
    # A number that the paper states of a line has that line's colour.
    stated = [own.get(_line_of(name, names), colour) for name, colour in zip(papers, grey, strict=True)]
    scale = alt.Scale(domain=[*names, *papers], range=[*own.values(), *stated])
    return alt.Color("line:N", scale=scale, legend=legend)


def _dashes(names: Sequence[str], papers: Sequence[str]) -> alt.Scale:
    """The dashes of all lines: with the domain of the colours, so that the two share a legend."""
    import altair as alt

    first, dash = DASHED
    own: list[list[int]] = [[1, 0] if at < first else dash for at in range(len(names))]
    return alt.Scale(domain=[*names, *papers], range=[*own, *[STATED] * len(papers)])


def _legend(
    names: Sequence[str], papers: Sequence[str], title: str | None = None, width: int = WIDTH
) -> alt.Legend | None:
    """One legend for colour and dash: Vega-Lite warns of a field with two. None for a single line
    without a title.
    """
    return line_legend([*names, *papers], title, width) if len(names) + len(papers) > 1 or title else None


def line_legend(names: Sequence[str], title: str | None = None, width: int = WIDTH) -> alt.Legend:
    """A legend above a chart of this width, in as many rows as its names need."""
    import altair as alt

    longest = max((len(name) for name in names), default=0)
    columns = max(1, min(LEGEND_COLUMNS, int(width / (SYMBOL + LETTER * max(4, longest)))))
    limit = min(260, width - SYMBOL)
    return alt.Legend(
        title=title or None,
        orient="top",
        labelFontSize=12,
        columns=columns,
        labelLimit=limit,
        symbolType="stroke",
        symbolOpacity=1.0,
        symbolStrokeWidth=2,
    )


def _line_of(paper: str, names: Sequence[str]) -> str:
    """The line that a name such as "paper: Reno, mean" is about, the longest that fits; "" for
    none.
    """
    about = paper.removeprefix("paper: ")
    fitting = [name for name in names if about == name or about.startswith((f"{name} ", f"{name},"))]
    return max(fitting, key=len, default="")


def _hover(figure: Curves) -> list[alt.Tooltip]:
    import altair as alt

    return [
        alt.Tooltip("line:N", title="line"),
        alt.Tooltip("x:Q", title=figure["x"], format="~g"),
        alt.Tooltip("y:Q", title=figure["y"], format=".4~g"),
    ]
