"""Figures for papers: the panels under each other on one time axis, as PNG, SVG or PDF, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.plot.theme import GRID, INK, MPL_DASHES, MUTED, PALETTE, spread
from ackclock.plot.time_series import Line, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN = 7.0
PANEL_IN = 1.75


def figure(panels: Sequence[Panel], title: str = "") -> Figure:
    """A matplotlib figure of ``panels`` (time in seconds), each line labelled at its end. Needs matplotlib.

    Raises:
        ValueError: there is nothing to draw.
        ImportError: matplotlib is not installed.
    """
    if not panels:
        raise ValueError("nothing to draw: the run recorded no series (sample = 0 s)")
    import matplotlib
    from matplotlib.figure import Figure as MplFigure

    style: Any = {
        "font.size": 9.0,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "svg.fonttype": "none",  # text stays text: searchable, and set in the reader's font
    }
    with matplotlib.rc_context(style):
        drawn = MplFigure(figsize=(WIDTH_IN, PANEL_IN * len(panels) + 0.5), layout="constrained")
        axes = drawn.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axis, panel in zip(axes, panels, strict=True):
            _draw(axis, panel)
        axes[-1].set_xlabel("Time (s)")
        if title:
            drawn.suptitle(title, fontsize=10.0, x=0.01, ha="left")
        return drawn


def save(panels: Sequence[Panel], path: Path, title: str = "") -> Path:
    """Write the figure to ``path``; the suffix (.png, .svg, .pdf) is the format. Returns ``path``."""
    figure(panels, title).savefig(path, dpi=160)
    return path


def _draw(axis: Axes, panel: Panel) -> None:
    for i, line in enumerate(panel.lines):
        axis.plot(line.times, line.values, color=PALETTE[i], linestyle=MPL_DASHES[i], linewidth=1.1)
    axis.set_title(panel.title, loc="left", fontsize=9.0, fontweight="bold")
    axis.set_ylabel(panel.unit)
    axis.set_ylim(bottom=0.0)
    axis.margins(x=0.0)
    axis.grid(axis="y", color=GRID, linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    if len(panel.lines) > 1:
        _label_ends(axis, panel.lines)


def _label_ends(axis: Axes, lines: Sequence[Line]) -> None:
    shown = [(i, line) for i, line in enumerate(lines) if line.values]
    low, high = axis.get_ylim()
    at = spread([line.values[-1] for _, line in shown], 0.1 * (high - low))
    lift = max(0.0, low - min(at))
    for (i, line), y in zip(shown, at, strict=True):
        axis.annotate(
            line.name,
            xy=(1.0, y + lift),
            xycoords=("axes fraction", "data"),
            xytext=(4.0, 0.0),
            textcoords="offset points",
            color=PALETTE[i],
            fontsize=8.0,
            va="center",
            annotation_clip=False,
        )
