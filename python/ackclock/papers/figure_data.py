"""Data of the papers' figures: lines over a swept value, with intervals, for the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ackclock.papers.evaluators import ExperimentPoint
from ackclock.statistics import Interval, interval
from ackclock.statistics.summary_stats import StatName

if TYPE_CHECKING:
    from ackclock.papers.documents import FigureDocument
    from ackclock.plot.sweep_chart import CurvePoint, FigureAxes

Point = tuple[float, Interval]
SHARES: tuple[tuple[StatName, float], ...] = (("min", 0.0), ("p50", 0.5), ("p95", 0.95), ("max", 1.0))
"""Quantiles of a distribution, with the share of its values below."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure: its number and subject, the paper's statement, its axes, and its lines by name.

    ``paper`` has the numbers that the paper's text states, drawn beside ours; a ``trace`` has too
    many points for marks; values above ``top`` are cut off. ``ticks`` has the labels of positions
    on the x axis that are not numbers, such as "auto"; without ``joined`` points have no line
    between them.
    """

    title: str
    paper_statement: str
    x: str
    y: str
    lines: Mapping[str, Sequence[Point]]
    log_x: bool = False
    paper: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    trace: bool = False
    top: float | None = None
    ticks: Mapping[float, str] = field(default_factory=dict)
    joined: bool = True

    def as_json(self) -> FigureDocument:
        """An entry of the ``figures`` list of ``reproduce``'s document."""
        rows: list[CurvePoint] = [
            {"line": name, "x": x, "y": value.mean, "lo": value.lo, "hi": value.hi}
            for name, points in self.lines.items()
            for x, value in points
        ]
        rows += [
            {"line": f"paper: {name}", "x": x, "y": y, "lo": y, "hi": y, "paper": True}
            for name, points in self.paper.items()
            for x, y in points
        ]
        axes: FigureAxes = {"x": self.x, "y": self.y, "log_x": self.log_x, "trace": self.trace}
        if self.top:
            axes["top"] = self.top
        if self.ticks:
            axes["ticks"] = [[x, label] for x, label in self.ticks.items()]
        if not self.joined:
            axes["joined"] = False
        return {"title": self.title, "reading": self.paper_statement, **axes, "rows": rows}


def traced(times: Iterable[float], values: Iterable[float | None], maximum: int = 500) -> list[Point]:
    """A run's series as a line, without gaps and reduced to about ``maximum`` points."""
    pairs = [(time, value) for time, value in zip(times, values, strict=True) if value is not None]
    return [(time, interval([value])) for time, value in pairs[:: max(1, len(pairs) // maximum)]]


def level(value: float, begin: float, end: float) -> list[tuple[float, float]]:
    """A constant of the paper over a range of x."""
    return [(begin, value), (end, value)]


def lines(names: Sequence[str], xs: Sequence[float], find: Callable[[str, int], Interval]) -> dict[str, list[Point]]:
    """Lines by name; ``find`` returns the figure of a name at an x."""
    return {name: [(x, find(name, place)) for place, x in enumerate(xs)] for name in names}


def over(
    spots: Sequence[ExperimentPoint],
    xs: Sequence[float],
    names: Sequence[str],
    figure: Callable[[ExperimentPoint], Interval],
) -> dict[str, list[Point]]:
    """Lines of schemes over points that differ in one swept value."""
    return lines(names, xs, lambda name, place: figure(spots[place].of(name)))
