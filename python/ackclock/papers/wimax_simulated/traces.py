"""Figure 5 of ``wimax-simulated``, and what a trace shows of where ours contradicts the paper: Veno, and Westwood's estimate."""

from __future__ import annotations

from ackclock.cells import CellResult
from ackclock.papers.drawing import Drawing, Point, level, traced
from ackclock.papers.measures import Figures, flow_of
from ackclock.papers.wimax_simulated.single import FIVE, LOW, scenario1

SEGMENT = 1024
BETA = 3.0
"""Segments queued from which Veno takes a loss for congestion (Fu and Liew 2003; unclear.md of the digest, B7)."""
SPAN_S = 60.0
TIME = "time (s)"


def drawings(figures: Figures) -> list[Drawing]:
    """At an error rate of 0.001, the first seed's runs."""
    return [_windows(figures), _veno(figures), _westwood(figures)]


def _run(figures: Figures, scheme: str) -> CellResult:
    return figures.results(scenario1(scheme, LOW))[0]


def _windows(figures: Figures) -> Drawing:
    lines = {}
    for scheme in (*FIVE, "BIAD"):
        series = _run(figures, scheme).series
        lines[scheme] = traced(series["time_s"].to_list(), [value / 1e3 for value in series["cwnd_bytes"].to_list()])
    return Drawing("Figure 5: windows at an error rate of 0.001", "The paper: Westwood holds the largest window, BIC refills fast, Vegas and Veno stay very low.",
                   TIME, "congestion window (kB)", lines, trace=True)  # fmt: skip


def _veno(figures: Figures) -> Drawing:
    """What Veno counts as queued, N = cwnd (RTT - least RTT) / RTT, beside what does wait."""
    result = _run(figures, "Veno")
    base = float(flow_of(result)["rtt_ms"]["min"])
    early = result.series.filter(result.series["time_s"] <= SPAN_S)
    rows = zip(early["cwnd_bytes"].to_list(), early["srtt_ms"].to_list(), strict=True)
    counted = [None if not rtt else cwnd / SEGMENT * (rtt - base) / rtt for cwnd, rtt in rows]
    return Drawing(
        "Finding: what Veno takes for a queue",
        "At an error rate of 0.001 a frame's wait makes the usual round trip longer than the least one, so that Veno counts segments as queued in proportion "
        "to its window, where hardly a packet waits: above its threshold of 3 it takes random losses for congestion, and grows every other round. "
        "That puts it below New Reno while windows are large; below the threshold its cut to 4/5 puts it above (P3-029).",
        TIME, "packets", {"counted as queued by Veno": traced(early["time_s"].to_list(), counted), "waiting at the base station": _waiting(result)},
        paper={"Veno's threshold": level(BETA, 0.0, SPAN_S)}, trace=True,
    )  # fmt: skip


def _waiting(result: CellResult) -> list[Point]:
    hop = result.hops.filter(
        (result.hops["hop"] == "air") & (result.hops["direction"] == "down") & (result.hops["time_s"] <= SPAN_S)
    )
    return traced(hop["time_s"].to_list(), [float(value) for value in hop["queue_packets"].to_list()])


def _westwood(figures: Figures) -> Drawing:
    lines = {}
    for name, scheme in (
        ("Westwood of 2001, a sample an ACK", "Westwood (2001)"),
        ("Westwood+, a sample a round trip", "Westwood"),
    ):
        series = _run(figures, scheme).series
        pairs = zip(series["ssthresh_bytes"].to_list(), series["retransmitted_segments"].to_list(), strict=True)
        lines[name] = traced(series["time_s"].to_list(), [value / 1e3 if again and value else None for value, again in pairs])
    return Drawing(
        "Finding: what Westwood's two estimates make of a loss",
        "The threshold that each sets after a loss. ACKs come up a frame's worth at a time, microseconds apart: a sample an ACK takes that for a rate many times "
        "the channel's, and the window is not cut to what the path holds (P3-026 and 033, +96 and +108 %, are from the estimate that is not deceived).",
        TIME, "threshold after a loss (kB)", lines, trace=True,
    )  # fmt: skip
