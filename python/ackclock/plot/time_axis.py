"""Panels above each other on one time axis: rates above, delays below, as in Flent and Crusader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ackclock.plot.theme import GRID, MUTED
from ackclock.plot.time_series import Panel
from ackclock.plot.vega import WIDTH, Specification, panel_end, time_lines, time_zoom, unvalidated

if TYPE_CHECKING:
    import altair as alt

AXIS_ROOM = 40
"""Pixels of the labels of the values' axis, equal in all panels."""
Phase = tuple[float, float, str]
"""Start and end in s, and name."""


@unvalidated
def stacked(panels: Sequence[Panel], phases: Sequence[Phase] = (), until: float | None = None) -> Specification:
    """The panels from top to bottom on one time axis, which zooms all of them. ``phases`` are named
    bands behind the lines; ``until`` is where the axis ends, if not with the lines.
    """
    import altair as alt

    end = until or max(panel_end(panel) for panel in panels)
    zoom = time_zoom()
    parts = []
    for panel in panels:
        last = panel is panels[-1]
        time = {"title": "Time (s)" if last else None, "axis": alt.Axis(grid=False, tickCount=8, labels=last)}
        lines = time_lines(panel, end, legend=len(panel.lines) > 1, zoom=zoom, room=AXIS_ROOM, **time)
        height = 190 if panel is panels[0] else 150
        parts.append(alt.layer(*_bands(phases, named=panel is panels[0]), lines).properties(width=WIDTH, height=height))
    chart = alt.vconcat(*parts, spacing=14).resolve_scale(color="independent", strokeDash="independent")
    return Specification.of(chart)


def _bands(phases: Sequence[Phase], *, named: bool) -> list[alt.Chart]:
    """A line at the start of each phase, and its name at the top."""
    import altair as alt

    if not phases:
        return []
    rows = [{"time_s": round(start, 3), "phase": name} for start, _, name in phases]
    base = alt.Chart(alt.InlineData(values=rows))
    x = alt.X("time_s:Q")
    rules = base.mark_rule(color=GRID, strokeWidth=1.5, strokeDash=[3, 3], clip=True).encode(
        x=x, tooltip=alt.Tooltip("phase:N", title="test from here")
    )
    if not named:
        return [rules]
    names = base.mark_text(align="left", baseline="top", fontSize=10, color=MUTED, clip=True, angle=90, dy=-12)
    return [rules, names.encode(x=x, y=alt.value(4), text="phase:N")]
