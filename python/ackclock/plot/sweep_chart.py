"""Lines over a swept value or over time, with the paper's values: a Vega-Lite specification for the
report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NotRequired, TypedDict

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
LONG = 12
"""Length of a line's name, in characters, above which a legend's row has fewer names."""
NAMED_PLACES = 12


class CurvePoint(TypedDict):
    """A point of a line with its interval; one of the paper's own has ``paper``."""

    line: str
    x: float
    y: float | None
    lo: float | None
    hi: float | None
    paper: NotRequired[bool]


class FigureAxes(TypedDict):
    """The axes of a figure. ``x`` and ``y`` are titles.

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


class Curves(FigureAxes):
    """What `swept` draws."""

    rows: list[CurvePoint]


def swept(figure: Curves) -> Specification:
    """The lines of a figure. The paper's own are dashed, in their line's colour or in grey."""
    import altair as alt

    rows = [row for row in figure["rows"] if row["y"] is not None]
    ours, theirs = ([row for row in rows if bool(row.get("paper")) is paper] for paper in (False, True))
    names, papers = (list(dict.fromkeys(str(row["line"]) for row in of)) for of in (ours, theirs))
    on = {"x": _x(figure, ours), "y": _y(figure), "color": _colour(names, papers)}
    dash = alt.StrokeDash("line:N", scale=_dashes(names, papers), legend=_legend(names, papers))
    base = alt.Chart(alt.InlineData(values=ours))
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
    return Specification.of(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT))


def _x(figure: Curves, rows: Sequence[CurvePoint]) -> alt.X:
    """A few integer positions on a linear axis have a label each."""
    import altair as alt

    places = sorted({row["x"] for row in rows})
    log = bool(figure["log_x"])
    labels = {float(x): str(label) for x, label in figure.get("ticks", ())}
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
    return alt.X("x:Q", title=figure["x"], scale=scale, axis=axis)


def _y(figure: Curves) -> alt.Y:
    import altair as alt

    top = figure.get("top")
    if figure["y"] == "Jain's index":
        top = 1.0
    scale = alt.Scale(domain=[0, top]) if top else alt.Scale(zero=True)
    return alt.Y("y:Q", title=figure["y"], scale=scale)


def _colour(names: Sequence[str], papers: Sequence[str]) -> alt.Color:
    import altair as alt

    own = {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(names)}
    grey = [MUTED if at % 2 == 0 else INK for at in range(len(papers))]
    # A number that the paper states of a line has that line's colour.
    stated = [own.get(_line_of(name, names), colour) for name, colour in zip(papers, grey, strict=True)]
    scale = alt.Scale(domain=[*names, *papers], range=[*own.values(), *stated])
    return alt.Color("line:N", scale=scale, legend=_legend(names, papers))


def _dashes(names: Sequence[str], papers: Sequence[str]) -> alt.Scale:
    """The dashes of all lines: with the domain of the colours, so that the two share a legend."""
    import altair as alt

    first, dash = DASHED
    own: list[list[int]] = [[1, 0] if at < first else dash for at in range(len(names))]
    return alt.Scale(domain=[*names, *papers], range=[*own, *[STATED] * len(papers)])


def _legend(names: Sequence[str], papers: Sequence[str]) -> alt.Legend:
    """One legend for colour and dash: Vega-Lite warns of a field with two."""
    import altair as alt

    columns = 5 if max((len(name) for name in (*names, *papers)), default=0) > LONG else LEGEND_COLUMNS
    return alt.Legend(title=None, orient="top", labelFontSize=12, columns=columns, labelLimit=260, symbolType="stroke")


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
