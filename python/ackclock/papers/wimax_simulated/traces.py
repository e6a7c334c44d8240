"""Figure 5 of ``wimax-simulated``, and traces of results that contradict the paper: Veno, and
Westwood's estimate.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import mean

from ackclock.papers.evaluators import ExperimentData, flow_of
from ackclock.papers.experiments import hop_of, known
from ackclock.papers.figure_data import PaperFigure, Point, level, traced
from ackclock.papers.wimax_simulated.single import FIVE, LOW, scenario1
from ackclock.simulation.runner import RunResult

SEGMENT = 1024
BETA = 3.0
"""Minimum queued segments for which Veno treats a loss as congestion (Fu and Liew 2003)."""
BEGIN_S, END_S = 5.0, 100.0
"""After the first slow start."""
TIME = "time (s)"


def drawings(figures: ExperimentData) -> list[PaperFigure]:
    """At an error rate of 0.001, the first seed's runs."""
    return [*_windows(figures), _veno(figures), _westwood(figures)]


def _run(figures: ExperimentData, scheme: str) -> RunResult:
    return figures.results(scenario1(scheme, LOW))[0]


def _windows(figures: ExperimentData) -> list[PaperFigure]:
    statement = "The paper: Westwood has the largest window, BIC recovers fast, Vegas and Veno stay very low."
    five = {scheme: _window(figures, scheme) for scheme in FIVE}
    return [
        PaperFigure(
            "Figure 5: windows at an error rate of 0.001", statement, TIME, "congestion window (kB)", five, trace=True
        ),
        PaperFigure(
            "Figure 5 with BIAD",
            "BIAD uses Westwood's estimate of 2001 (below); beyond 500 kB the axis ends.",
            TIME,
            "congestion window (kB)",
            {"BIAD": _window(figures, "BIAD")},
            trace=True,
            top=500.0,
        ),
    ]


def _window(figures: ExperimentData, scheme: str) -> list[Point]:
    series = _run(figures, scheme).series
    return traced(series["time_s"].to_list(), [value / 1e3 for value in series["cwnd_bytes"].to_list()])


def _veno(figures: ExperimentData) -> PaperFigure:
    """Veno's estimate of queued segments, N = cwnd (RTT - minimum RTT) / RTT, and the real
    queue.
    """
    result = _run(figures, "Veno")
    base = known(flow_of(result)["rtt_ms"]["min"])
    series = result.series.filter((result.series["time_s"] >= BEGIN_S) & (result.series["time_s"] <= END_S))
    rows = zip(series["cwnd_bytes"].to_list(), series["srtt_ms"].to_list(), strict=True)
    counted = [None if not rtt else cwnd / SEGMENT * (rtt - base) / rtt for cwnd, rtt in rows]
    wait = {
        direction: known(hop_of(result, "air", direction)["queue_delay_ms"]["mean"]) for direction in ("down", "up")
    }
    held = float(hop_of(result, "air", "down")["queue_packets_mean"])
    return PaperFigure(
        "Finding: segments that Veno counts as queued",
        f"At an error rate of 0.001. The grant latency of ACKs is {wait['up']:.0f} ms on average, "
        f"but the minimum RTT, {base:.0f} ms, contains hardly any of it: the usual RTT is longer "
        f"with and without a queue (the data's queueing delay is {wait['down']:.1f} ms), and Veno "
        "counts segments as queued in proportion to its window. Above its threshold of 3 Veno "
        "treats random losses as congestion and grows every second RTT, which puts Veno below New "
        "Reno with large windows. With small windows the reduction to 4/5 puts Veno above "
        "(P3-029). The queue is sampled at the start of a frame, at its maximum; the mean over "
        f"time is {held:.1f} packets.",
        TIME,
        "packets",
        {
            "counted as queued by Veno": traced(series["time_s"].to_list(), counted),
            "at the base station": _waiting(result),
        },
        paper={"Veno's threshold": level(BETA, BEGIN_S, END_S)},
        trace=True,
    )


def _waiting(result: RunResult) -> list[Point]:
    """The mean over each second of samples every 100 ms, which are always at the start of a
    frame.
    """
    hop = result.hops.filter((result.hops["hop"] == "air") & (result.hops["direction"] == "down"))
    each: dict[int, list[float]] = defaultdict(list)
    for time, packets in zip(hop["time_s"].to_list(), hop["queue_packets"].to_list(), strict=True):
        if BEGIN_S <= time <= END_S:
            each[int(time)].append(float(packets))
    return traced([float(second) for second in each], [mean(packets) for packets in each.values()])


def _westwood(figures: ExperimentData) -> PaperFigure:
    lines = {}
    for name, scheme in (
        ("Westwood of 2001, a sample per ACK", "Westwood"),
        ("Westwood+, a sample per RTT", "Westwood+"),
    ):
        series = _run(figures, scheme).series
        pairs = zip(series["ssthresh_bytes"].to_list(), series["retransmitted_segments"].to_list(), strict=True)
        lines[name] = traced(
            series["time_s"].to_list(), [value / 1e3 if again and value else None for value, again in pairs]
        )
    return PaperFigure(
        "Finding: ssthresh by Westwood's two estimates",
        "The ssthresh of each variant after a loss. The ACKs of a frame arrive microseconds apart, "
        "and an estimate with a sample per ACK is above the channel's rate. The paper cites the "
        "estimate of 2001 and is judged with it.",
        TIME,
        "ssthresh after a loss (kB)",
        lines,
        trace=True,
    )
