"""Figures 6 and 10 to 18 of ``wimax-measured``: runs over time, concurrent flows, models, both
directions.
"""

from __future__ import annotations

from collections.abc import Sequence

from ackclock.models import padhye_full, window_over_rtt
from ackclock.papers.evaluators import ExperimentData, flow_of, goodput_mbps, point
from ackclock.papers.experiments import known
from ackclock.papers.figure_data import PaperFigure, Point, level, traced
from ackclock.papers.wimax_measured.acks import histogram
from ackclock.papers.wimax_measured.campus import campus_spot, rate_mbps
from ackclock.papers.wimax_measured.concurrent import shares
from ackclock.papers.wimax_measured.transfers import VARIANTS, retransmitted, rtt, spot
from ackclock.simulation.runner import RunResult
from ackclock.statistics import interval

BDP_KB = 22.5
"""1.5 Mb/s for 120 ms, of section 4.1."""
SECONDS, WINDOW = "connection time (s)", "bytes in flight (kB)"
PADHYE_RTT_S = 0.134
"""The RTT of one of the model's curves (Figure 16)."""


def _outstanding(result: RunResult) -> list[Point]:
    """The paper's window: data sent and not yet acknowledged, in kB."""
    return traced(result.series["time_s"].to_list(), [value / 1e3 for value in result.series["flight_bytes"].to_list()])


def _windows(figures: ExperimentData, size: str, variants: Sequence[str]) -> dict[str, list[Point]]:
    return {variant: _outstanding(figures.results(spot("down", size, variant))[0]) for variant in variants}


def transfers(figures: ExperimentData) -> list[PaperFigure]:
    """Figures 6 and 10 to 12: single transfers, the first seed's."""
    trips = {}
    for variant in VARIANTS:
        series = figures.results(spot("down", "64 KB", variant))[0].series
        trips[variant] = traced(series["time_s"].to_list(), series["srtt_ms"].to_list())
    cable = figures.results(point("cable", "down auto", "cable", variant="cubic-2.0"))[0]
    full = {"rate times minimum RTT": level(BDP_KB, 0.0, 60.0)}
    return [
        PaperFigure(
            "Figure 6: SRTT of a download",
            "The paper: 120 to 300 ms throughout the connection.",
            SECONDS,
            "RTT (ms)",
            trips,
            paper={"minimum": level(120.0, 0.0, 60.0), "maximum": level(300.0, 0.0, 60.0)},
            trace=True,
        ),
        PaperFigure(
            "Figure 10: CUBIC with auto-tuning on a cable modem of 5 Mb/s",
            "The paper: the regular pattern of a cubic function; auto-tuning does no harm.",
            SECONDS,
            WINDOW,
            {"CUBIC": _outstanding(cable)},
            trace=True,
        ),
        PaperFigure(
            "Figure 11: windows with 64 KB",
            "The paper: both reach about the same window before the first loss, in under 10 s; New "
            "Reno halves the window and grows; the majority of losses ends in a timeout.",
            SECONDS,
            WINDOW,
            _windows(figures, "64 KB", ("CUBIC", "New Reno")),
            paper=full,
            trace=True,
        ),
        PaperFigure(
            "Figure 12: windows with auto-tuning",
            "The paper: CUBIC is erratic and settles near the BDP late, New Reno earlier. Ours "
            "settles at once (P0-107).",
            SECONDS,
            WINDOW,
            _windows(figures, "auto", ("CUBIC", "New Reno")),
            paper=full,
            trace=True,
        ),
    ]


def concurrency(figures: ExperimentData) -> list[PaperFigure]:
    """Figures 13 and 14."""
    places = list(enumerate(VARIANTS, 1))
    fair = {
        f"{count} flows": [(float(n), shares(figures, count, variant)) for n, variant in places]
        for count in ("four", "ten")
    }
    sizes = ("8 KB", "16 KB", "32 KB")
    spots = [(float(size.split()[0]), spot("down", size, "New Reno")) for size in sizes]
    model = [
        (kb, interval([8e-6 * window_over_rtt(1024.0 * kb, value / 1e3) for value in figures.each(where, rtt("mean"))]))
        for kb, where in spots
    ]
    return [
        PaperFigure(
            "Figure 13: shares of four and ten flows, mean and range",
            "The paper: 25 and 10 % on average, CUBIC's range the widest, none starves.",
            "congestion control",
            "share of the whole (%)",
            fair,
            paper={"four flows, mean": level(25.0, 1.0, 4.0), "ten flows, mean": level(10.0, 1.0, 4.0)},
            ticks={float(n): variant for n, variant in places},
            joined=False,
        ),
        PaperFigure(
            "Figure 14: New Reno and B = 0.75 W/RTT",
            "The paper: the model has the trend and is too high.",
            "socket buffers (KB)",
            "throughput (Mb/s)",
            {"New Reno": [(kb, figures.mean(where, goodput_mbps)) for kb, where in spots], "model": model},
        ),
    ]


def _padhye(figures: ExperimentData) -> dict[str, list[Point]]:
    """Figure 16: each minute's throughput at its loss, and the model's with one RTT and with the
    minute's own.
    """
    found: dict[str, list[Point]] = {
        "New Reno 64 KB, measured": [],
        "Padhye, RTT 134 ms": [],
        "Padhye, measured RTT": [],
    }
    for result in sorted(figures.results(campus_spot()), key=retransmitted):
        flow, lost = flow_of(result), retransmitted(result)
        own = known(flow["rtt_ms"]["mean"]) / 1e3
        models = [
            padhye_full(lost / 100.0, seconds, seconds + 0.2, max_window=65536 / 1448) * 1448 * 8 / 1e6
            for seconds in (PADHYE_RTT_S, own)
            if lost
        ]
        for name, value in zip(found, (goodput_mbps(result), *models), strict=False):
            found[name].append((lost, interval([value])))
    return found


def campus(figures: ExperimentData) -> list[PaperFigure]:
    """Figures 15 to 18."""
    minutes = [(float(n), interval([value])) for n, value in enumerate(figures.each(campus_spot(), goodput_mbps), 1)]
    both = figures.results(point("both", "both", "residence"))[0]
    steps = [5.0 * n for n in range(60)]
    rates = {
        name: [(t, interval([rate_mbps(both, flow, t, t + 5.0)])) for t in steps if begin <= t < end]
        for name, flow, begin, end in (("download", "down", 5.0, 295.0), ("upload", "up", 60.0, 235.0))
    }
    stated = {
        "download": [*level(1.37, 0.0, 60.0), *level(1.13, 60.0, 240.0), *level(1.37, 240.0, 300.0)],
        "upload": level(0.22, 60.0, 240.0),
    }
    gaps = {
        name: [(bound, interval([share])) for bound, share in histogram(figures, scheme)]
        for name, scheme in (("with an upload", "both"), ("download alone", "download alone"))
    }
    return [
        PaperFigure(
            "Figure 15: downloads of a minute on the campus",
            "The paper: downloads vary and never reach 1 Mb/s. Our minutes are seeds.",
            "minute",
            "throughput (Mb/s)",
            {"New Reno 64 KB": minutes},
            paper={"never reached": level(1.0, 1.0, float(max(2, len(minutes))))},
            joined=False,
        ),
        PaperFigure(
            "Figure 16: throughput and loss on the campus",
            "The paper: losses of 1.8 to 4.2 %, and the model fits.",
            "retransmitted (%)",
            "throughput (Mb/s)",
            _padhye(figures),
            joined=False,
        ),
        PaperFigure(
            "Figure 17: both directions at the residence",
            "The paper: the download falls and fluctuates during the upload, and recovers. Dashed: "
            "the means of the paper's Table 3.",
            SECONDS,
            "throughput (Mb/s)",
            rates,
            paper=stated,
            trace=True,
        ),
        PaperFigure(
            "Figure 18: times between the download's ACKs on the campus",
            "The paper: the majority within 1 ms of the previous ACK, spikes at 5 to 20 and 90 to "
            "400 ms; 6 to 8 ms without the upload.",
            "up to (ms)",
            "share of ACKs (%)",
            gaps,
            log_x=True,
        ),
    ]
