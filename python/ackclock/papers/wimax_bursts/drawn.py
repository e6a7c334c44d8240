"""Figures 2, 3 and 6 of ``wimax-bursts``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from ackclock.papers.drawing import Drawing
from ackclock.papers.measures import Figures
from ackclock.papers.wimax_bursts.day import HOURS, Day
from ackclock.statistics import Interval, interval


def drawings(figures: Figures) -> list[Drawing]:
    """Figures 2, 3 and 6."""
    day = Day(figures)
    hours = [float(2 * place) for place in range(len(HOURS))]

    def line(find: Callable[[int], float]) -> list[tuple[float, Interval]]:
        return [(x, interval([find(hour)])) for x, hour in zip(hours, HOURS, strict=True)]

    axis = "hours after the first test, at 18:00"
    durations = Counter(int(burst["duration_ms"] / 100.0 + 1e-6) for hour in HOURS for burst in day.bursts(hour))
    bars = [(100.0 * place, interval([float(durations.get(place, 0))])) for place in range(1, 15)]
    return [
        Drawing("Figure 2: round trips over the day", "The paper: stable, 186.5 ms on average; 201 ms on average and 603 at most at 20:00.",
                axis, "RTT (ms)", {which: line(partial(day.rtt, which=which)) for which in ("min", "mean", "max")}),
        Drawing("Figure 3: one-way delays", "The paper: 219 ms on average (with the offset of its clocks), 605 at most at 20:00.",
                axis, "one-way delay (ms)", {which: line(partial(day.delay, which=which)) for which in ("min", "mean", "max")}),
        Drawing("Figure 3: loss", "The paper: 5.37 % at 12:00 to 6.63 % at 20:00, 6.177 % over the day.", axis, "loss (%)", {"loss": line(day.loss)}),
        Drawing("Figure 6: bursts of all tests by duration", "The paper, at 12:00: most of 100 to 200 ms, eight above 0.5 s, two above 1 s.",
                "duration (ms)", "bursts", {"bursts": bars}),
    ]  # fmt: skip
