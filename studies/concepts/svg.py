"""Drawings as SVG text: line charts and diagrams that follow a page's colours, or the system's."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field

WIDTH = 720
STYLE = """
.fig { --fig-text: #24292f; --fig-line: #8c959f; --fig-faint: #d0d7de; --fig-box: #f6f8fa;
  --fig-1: #0969da; --fig-2: #bc4c00; --fig-3: #1a7f37; --fig-4: #8250df; }
@media (prefers-color-scheme: dark) { .fig { --fig-text: #e6edf3; --fig-line: #8b949e; --fig-faint: #30363d;
  --fig-box: #161b22; --fig-1: #58a6ff; --fig-2: #f0883e; --fig-3: #3fb950; --fig-4: #bc8cff; } }
.fig text { fill: var(--color-foreground-primary, var(--fig-text)); font: 13px system-ui, sans-serif; }
.fig .small { font-size: 12px; } .fig .head { font-weight: 600; }
.fig .axis { stroke: var(--color-foreground-muted, var(--fig-line)); fill: none; }
.fig .grid { stroke: var(--color-background-border, var(--fig-faint)); fill: none; }
.fig .box { stroke: var(--color-foreground-muted, var(--fig-line)); fill: var(--color-background-secondary, var(--fig-box)); }
.fig .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.fig .c1 { stroke: var(--fig-1); } .fig .c2 { stroke: var(--fig-2); } .fig .c3 { stroke: var(--fig-3); }
.fig .c4 { stroke: var(--fig-4); } .fig .t1 { fill: var(--fig-1); } .fig .t2 { fill: var(--fig-2); }
.fig .t3 { fill: var(--fig-3); } .fig .t4 { fill: var(--fig-4); }
"""


def picture(title: str, height: int, parts: Sequence[str]) -> str:
    """A whole SVG file."""
    style = " ".join(STYLE.split())
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="fig" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{html.escape(title)}">'
    )
    return "\n".join([head, f"<title>{html.escape(title)}</title>", f"<style>{style}</style>", *parts, "</svg>"]) + "\n"


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{html.escape(words)}</text>'


def line(points: Sequence[tuple[float, float]], kind: str) -> str:
    """A polyline."""
    return f'<polyline class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def box(x: float, y: float, width: float, height: float, words: Sequence[str]) -> str:
    """A box with centred lines of words."""
    first = y + height / 2 + 4.5 - 8.5 * (len(words) - 1)
    lines = [
        text(x + width / 2, first + 17 * number, one, "head" if number == 0 else "small", "middle")
        for number, one in enumerate(words)
    ]
    return "\n".join([f'<rect class="box" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>', *lines])


def arrow(start: tuple[float, float], end: tuple[float, float], kind: str = "axis") -> str:
    """A line with a head at its end."""
    (x1, y1), (x2, y2) = start, end
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1.0
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    head = [(x2 - 9 * ux - 4 * uy, y2 - 9 * uy + 4 * ux), (x2, y2), (x2 - 9 * ux + 4 * uy, y2 - 9 * uy - 4 * ux)]
    return line([start, end], f"line {kind}") + line(head, f"line {kind}")


@dataclass
class Chart:
    """A line chart: linear axes from zero, up to four lines, each named at its end or in a key."""

    title: str
    x_name: str
    y_name: str
    x_end: float
    y_end: float
    x_step: float
    y_step: float
    top: float = 30
    height: float = 190
    parts: list[str] = field(default_factory=list)

    LEFT, RIGHT = 62, 24

    def x(self, value: float) -> float:
        """The place of a value on the horizontal axis."""
        return self.LEFT + value / self.x_end * (WIDTH - self.LEFT - self.RIGHT)

    def y(self, value: float) -> float:
        """The place of a value on the vertical axis."""
        return self.top + self.height * (1 - min(value, self.y_end) / self.y_end)

    def frame(self) -> None:
        """Axes, grid and names."""
        for number in range(round(self.y_end / self.y_step) + 1):
            value = number * self.y_step
            self.parts.append(line([(self.LEFT, self.y(value)), (WIDTH - self.RIGHT, self.y(value))], "grid"))
            self.parts.append(text(self.LEFT - 8, self.y(value) + 4, f"{value:g}", "small", "end"))
        for number in range(round(self.x_end / self.x_step) + 1):
            value = number * self.x_step
            self.parts.append(text(self.x(value), self.top + self.height + 18, f"{value:g}", "small", "middle"))
        self.parts.append(line([(self.LEFT, self.y(0)), (WIDTH - self.RIGHT, self.y(0))], "axis"))
        self.parts.append(text(self.LEFT - 40, self.top - 12, self.y_name, "small"))
        self.parts.append(text(WIDTH - self.RIGHT, self.top + self.height + 36, self.x_name, "small", "end"))

    def add(self, points: Sequence[tuple[float, float]], colour: int) -> None:
        """A line."""
        self.parts.append(line([(self.x(x), self.y(y)) for x, y in points], f"line c{colour}"))

    def key(self, names: Sequence[str], colours: Sequence[int] | None = None) -> None:
        """Names of the lines, above the chart."""
        place = self.LEFT + 110.0
        for number, name in enumerate(names):
            colour = (colours or range(1, 9))[number]
            self.parts.append(line([(place, self.top - 16), (place + 20, self.top - 16)], f"line c{colour}"))
            self.parts.append(text(place + 26, self.top - 12, name, "small"))
            place += 46 + 6.6 * len(name)
