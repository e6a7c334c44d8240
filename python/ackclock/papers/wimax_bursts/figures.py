"""Figures 2 to 7 of ``wimax-bursts``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from statistics import mean

from ackclock.papers.evaluators import ExperimentData
from ackclock.papers.figure_data import PaperFigure, Point, level
from ackclock.papers.wimax_bursts.day import HOURS, Day
from ackclock.statistics import interval

AXIS = "time of day"
LAST = 22.0
TICKS = {2.0 * place: f"{hour}:00" for place, hour in enumerate(HOURS)}
MOMENT = (85.0, 105.0)
"""Figure 7's seconds of the 18:00 test."""


def _place(hour: int) -> float:
    return 2.0 * HOURS.index(hour)


def drawings(figures: ExperimentData) -> list[PaperFigure]:
    """The figures in the paper's order."""
    day = Day(figures)
    return [
        *_over_the_day(day),
        *_in_time(day, 22, "Figure 4", "stable, no bursts"),
        *_in_time(day, 12, "Figure 5", "the test with the maximum number of bursts"),
        _durations(day),
        *_moment(day),
    ]


def _over_the_day(day: Day) -> list[PaperFigure]:
    def line(find: Callable[[int], float]) -> list[Point]:
        return [(_place(hour), interval([find(hour)])) for hour in HOURS]

    rtts = {
        "mean of the day": level(186.5, 0.0, LAST),
        "mean at 20:00": [(_place(20), 201.0)],
        "max at 20:00": [(_place(20), 603.0)],
    }
    delays = {
        "mean of the day": level(219.176, 0.0, LAST),
        "mean at 02:00, the lowest": [(_place(2), 184.12)],
        "mean at 08:00, the highest": [(_place(8), 315.47)],
        "max at 20:00": [(_place(20), 604.67)],
    }
    loss = {
        "loss, mean of the day": level(6.177, 0.0, LAST),
        "loss at 20:00, the maximum": [(_place(20), 6.63)],
        "loss at 12:00, the minimum": [(_place(12), 5.37)],
    }
    return [
        PaperFigure(
            "Figure 2: RTT over the day",
            "The paper: stable; maximum at 20:00.",
            AXIS,
            "RTT (ms)",
            {which: line(partial(day.rtt, which=which)) for which in ("min", "mean", "max")},
            paper=rtts,
            ticks=TICKS,
        ),
        PaperFigure(
            "Figure 3: one-way delays",
            "The paper's delays contain the clock offset: they exceed the RTTs.",
            AXIS,
            "one-way delay (ms)",
            {which: line(partial(day.delay, which=which)) for which in ("min", "mean", "max")},
            paper=delays,
            ticks=TICKS,
        ),
        PaperFigure(
            "Figure 3: loss",
            "The paper: minimum at 12:00, maximum at 20:00.",
            AXIS,
            "loss (%)",
            {"loss": line(day.loss)},
            paper=loss,
            ticks=TICKS,
        ),
    ]


def _bins(day: Day, hour: int, width: float, begin: float, end: float) -> tuple[list[Point], list[Point]]:
    """The mean delay of received packets in ms, and the share lost in per cent, by sending time."""
    delays: dict[int, list[float]] = defaultdict(list)
    lost: Counter[int] = Counter()
    for time, delay in day.delays(hour):
        if begin <= time < end:
            at = int(time / width)
            if delay is None:
                lost[at] += 1
            else:
                delays[at].append(delay)
    places = sorted({*delays, *lost})
    waits = [(width * at, interval([mean(delays[at])])) for at in places if delays[at]]
    return waits, [(width * at, interval([100.0 * lost[at] / (lost[at] + len(delays[at]))])) for at in places]


def _in_time(day: Day, hour: int, name: str, statement: str) -> list[PaperFigure]:
    delays, losses = _bins(day, hour, 1.0, 0.0, 600.0)
    title = f"{name}: the {hour}:00 test"
    return [
        PaperFigure(
            f"{title}, loss",
            f"The paper: {statement}. Ours by the second.",
            "time (s)",
            "loss (%)",
            {"loss": losses},
            trace=True,
        ),
        PaperFigure(
            f"{title}, delay",
            f"The paper: {statement}. The mean of a second.",
            "time (s)",
            "one-way delay (ms)",
            {"delay": delays},
            trace=True,
        ),
    ]


def _durations(day: Day) -> PaperFigure:
    def bars(hours: Iterable[int]) -> list[Point]:
        found = Counter(int(burst["duration_ms"] / 100.0 + 1e-6) for hour in hours for burst in day.bursts(hour))
        return [(100.0 * place, interval([float(found.get(place, 0))])) for place in range(1, 15)]

    busiest = day.busiest()
    stated = {"longest of 12:00": [(1360.0, 1.0)], "second longest": [(1060.0, 1.0)]}
    return PaperFigure(
        "Figure 6: bursts by duration",
        "The paper, at 12:00: the majority 100 to 200 ms, eight above 0.5 s, two above 1 s. Ours: the day, and "
        f"the test with the most bursts, {busiest}:00.",
        "duration, from (ms)",
        "bursts",
        {"all tests": bars(HOURS), f"{busiest}:00": bars([busiest])},
        paper=stated,
    )


def _moment(day: Day) -> list[PaperFigure]:
    delays, losses = _bins(day, 18, 0.1, *MOMENT)
    title = "Figure 7: seconds 85 to 105 of the 18:00 test"
    return [
        PaperFigure(
            f"{title}, delay",
            "The paper: a sawtooth with a period of some 700 ms; loss begins at delays of 300 ms "
            "(by the paper's clocks).",
            "time (s)",
            "one-way delay (ms)",
            {"delay": delays},
            paper={"loss begins": level(300.0, *MOMENT)},
            trace=True,
        ),
        PaperFigure(
            f"{title}, loss",
            "The paper: losses near the peaks of the delay, of up to 20 to 30 %.",
            "time (s)",
            "loss in 100 ms (%)",
            {"loss": losses},
            paper={"at moments": level(30.0, *MOMENT)},
            trace=True,
        ),
    ]
