"""Colours and sizes shared by the figures and the interactive charts.

The palette is Okabe and Ito's (2008), which remains distinguishable with the common colour-vision
deficiencies; lines also differ in dash, for black-and-white prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
VEGA_DASHES = ([1, 0], [6, 3], [8, 3, 2, 3], [2, 2], [5, 1, 1, 1, 1, 1], [10, 3], [1, 1])
INK = "#1f2933"
MUTED = "#6b7785"
GRID = "#e4e7eb"
MAX_LINES = len(PALETTE)
"""Maximum number of lines in a chart."""
DARK = {
    "#0072B2": "#4FA3E3",
    "#D55E00": "#FF8A4C",
    "#009E73": "#34C79A",
    "#CC79A7": "#E39AC6",
    "#E69F00": "#F0B840",
    "#56B4E9": "#9ADBFF",
    "#4D4D4D": "#C4CBD3",
    INK: "#e4e7eb",
    MUTED: "#9aa5b1",
    GRID: "#2d3844",
    "#A3123A": "#FF6F91",
    "#D00000": "#FF5C5C",
    "#F28E8E": "#F2A3A3",
    "#8E44AD": "#C58BE0",
    "#8C564B": "#C79A8F",
    "#111111": "#F5F5F5",
    "#7F7F7F": "#A5A5A5",
    "#B8860B": "#E0B84A",
    "#999999": "#B5B5B5",
    "#8B5A2B": "#CFA070",
    "#000000": "#F2F2F2",
}
"""Each colour of the charts on dark paper, with a contrast of at least 3 to it (WCAG 1.4.11)."""


DARK_PAPER = "#14191f"
WHITE_PAPER = ("background", "white")
DARK_SHADES = {light.lower(): shade for light, shade in DARK.items()}


def on_dark_paper(part: Any) -> Any:
    """A part of a Vega-Lite specification with the colours for dark paper; text that only names a
    colour stays.

    >>> on_dark_paper({"color": "#0072b2", "background": "white", "title": "of #0072b2"})
    {'color': '#4FA3E3', 'background': '#14191f', 'title': 'of #0072b2'}
    """
    if isinstance(part, Mapping):
        return {key: DARK_PAPER if (key, value) == WHITE_PAPER else on_dark_paper(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [on_dark_paper(value) for value in part]
    return DARK_SHADES.get(part.lower(), part) if isinstance(part, str) else part


def colour_variables(*, dark: bool) -> str:
    """The charts' colours as CSS custom properties; the name of each has its colour on white
    paper.

    >>> colour_variables(dark=False)[:22]
    '--c-0072b2: #0072B2; -'
    """
    return " ".join(f"--c-{light[1:].lower()}: {shade if dark else light};" for light, shade in DARK.items())


def spread(positions: list[float], gap: float) -> list[float]:
    """Move label positions apart until neighbours are at least ``gap`` away, in the same order and
    near their original positions.
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    placed = list(positions)
    clusters: list[list[int]] = []
    for i in order:
        clusters.append([i])
        while len(clusters) > 1 and _bottom(clusters[-1], positions, gap) - _top(clusters[-2], positions, gap) < gap:
            clusters[-2:] = [clusters[-2] + clusters[-1]]
    for cluster in clusters:
        first = _bottom(cluster, positions, gap)
        for step, i in enumerate(cluster):
            placed[i] = first + step * gap
    return placed


def _bottom(cluster: list[int], positions: list[float], gap: float) -> float:
    middle = sum(positions[i] for i in cluster) / len(cluster)
    return middle - gap * (len(cluster) - 1) / 2.0


def _top(cluster: list[int], positions: list[float], gap: float) -> float:
    return _bottom(cluster, positions, gap) + gap * (len(cluster) - 1)
