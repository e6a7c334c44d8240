"""The day's twelve tests: runs and captures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.papers.evaluators import ExperimentData, flow_of, point
from ackclock.papers.experiments import known
from ackclock.simulation.runner import RunResult
from ackclock.statistics.summary_stats import StatName

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionReport, OneBurst

HOURS = (18, 20, 22, 0, 2, 4, 6, 8, 10, 12, 14, 16)
LOADS = ("9 s", "7 s", "11 s", "14 s", "19 s", "18 s", "17 s", "16 s", "13 s", "12 s", "10 s", "8 s")
FLOW = "download"


class Day:
    """The day's twelve tests, by their starting hour in the paper."""

    def __init__(self, figures: ExperimentData) -> None:
        self.figures = figures

    def run(self, hour: int) -> RunResult:
        """The run of one test."""
        return self.figures.results(point("day", "", "fading", off=LOADS[HOURS.index(hour)]))[0]

    def seen(self, hour: int) -> DirectionReport:
        """The analysis of its captures."""
        return self.figures.analysis(self.run(hour), FLOW)

    def rtt(self, hour: int, which: StatName) -> float:
        """RTT at the sender, in ms."""
        return known(flow_of(self.run(hour), FLOW)["rtt_ms"][which])

    def delay(self, hour: int, which: StatName) -> float:
        """One-way delays, in ms."""
        return known(self.seen(hour)["one_way_delay_ms"][which])

    def loss(self, hour: int) -> float:
        """Share of packets lost, in per cent."""
        return 100.0 * known(self.seen(hour)["loss_rate"])

    def bursts(self, hour: int) -> Sequence[OneBurst]:
        """Bursts: 100 ms bins with more than half of the packets lost."""
        return self.seen(hour)["loss_bursts"]["bursts"]

    def joined_s(self, hour: int) -> list[float]:
        """Durations of `bursts` in seconds, first to last lost packet, if a bin in which nothing
        was sent does not end a burst: a sender whose window is lost sends one packet per RTO.
        """
        return joined_s(self.delays(hour))

    def seconds(self, hour: int) -> float:
        """The duration of a test; a live one may be shorter than the paper's 600 s."""
        return float(max(self.run(hour).series["time_s"].to_list()))

    def has_captures(self, hour: int) -> bool:
        """Whether a test's captures are still there; those of a live run are read and removed."""
        return getattr(self.run(hour), "folder", None) is not None

    def busiest(self) -> int:
        """The test with the most bursts: the paper's was that of 12:00."""
        return max(HOURS, key=lambda hour: len(self.bursts(hour)))

    def delays(self, hour: int) -> list[tuple[float, float | None]]:
        """Every data packet of a test: its sending time in s, and its one-way delay in ms, None if
        lost.
        """
        from ackclock.analysis import analyze

        captures = Path(self.run(hour).folder or ".") / "captures"
        found = analyze(*(captures / f"{FLOW}.{end}.pcap" for end in ("server", "client")), series=True).delays
        if found is None:
            return []
        data = found.filter(found["way"] == "b2a")
        return list(zip(data["time_s"].to_list(), data["delay_ms"].to_list(), strict=True))


BIN_S = 0.1
"""The paper's bin of departure time (section 3.2)."""


def joined_s(packets: Sequence[tuple[float, float | None]]) -> list[float]:
    """Durations in seconds of runs of bins with more than half of the packets lost, from the first
    to the last lost packet; a bin without packets does not end a run.

    >>> joined_s([(0.0, 20.0), (0.11, None), (0.55, None), (0.75, 20.0)])
    [0.44]
    """
    sent = Counter(int(time / BIN_S) for time, _ in packets)
    lost: dict[int, list[float]] = {}
    for time, delay in packets:
        if delay is None:
            lost.setdefault(int(time / BIN_S), []).append(time)
    runs: list[list[float]] = []
    within = False
    for number in sorted(sent):
        bad = 2 * len(lost.get(number, ())) > sent[number]
        if bad and not within:
            runs.append([])
        if bad:
            runs[-1] += lost[number]
        within = bad
    return [round(max(run) - min(run), 6) for run in runs]
