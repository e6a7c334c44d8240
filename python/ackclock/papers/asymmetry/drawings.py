"""Figures 3 to 7 and 9 to 14 of ``asymmetry``. Figures 3, 4, 5, 9 and 13 are measurements on the
paper's networks; ours are simulations of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ackclock.papers.asymmetry.figures import BUFFERS, HOSTS
from ackclock.papers.asymmetry.radio import COUNTS, fairness_index, spread_bps
from ackclock.papers.evaluators import ExperimentData, ExperimentPoint, flow_of, point
from ackclock.papers.experiments import known, throughput_bps, total_kbps, total_mbps
from ackclock.papers.figure_data import SHARES, PaperFigure, Point, traced
from ackclock.simulation.runner import RunResult
from ackclock.statistics import Interval, interval

SECONDS, DATA = "time (s)", "acknowledged data (kB)"
RADIO = {"Reno": "radio Reno", "ACC": "radio ACC", "AF": "radio AF"}
TABLE5 = {"Reno": (44.69, 42.8, 45.2, 47.1, 45.0, 45.6, 45.8), "AF": (52.17, 51.8, 49.3, 49.3, 49.6, 48.4, 48.8)}
"""Table 5's throughputs in kb/s, by `COUNTS`."""
SPREAD5 = {"Reno": (13.1, 24.9, 32.5, 37.6, 42.2, 48.0), "AF": (10.0, 8.9, 20.2, 28.0, 32.4, 36.4)}
"""Table 5's column of standard deviations, whose unit the paper does not give, from two connections
on.
"""


def drawings(figures: ExperimentData) -> list[PaperFigure]:
    """The figures in the paper's order."""
    return [
        _buffers(figures),
        *_reverse_first(figures),
        _both_directions(
            figures, "Figure 6: both directions with AF", "Reno+AF", "multi-second idle times of the forward flow"
        ),
        _pauses(figures),
        _transfer(figures),
        _hops(figures),
        _rtts(figures),
        _fairness(figures),
        *_table5(figures),
        _cable_and_radio(figures),
        _web(figures),
        _loss(figures),
    ]


def _line(
    figures: ExperimentData, spots: Sequence[tuple[float, ExperimentPoint]], measure: Callable[[RunResult], float]
) -> list[Point]:
    return [(x, figures.mean(spot, measure)) for x, spot in spots]


def _progress(run: RunResult, flow: str, begin: float = 0.0, end: float = float("inf")) -> list[Point]:
    """A flow's acknowledged data over time, in kB."""
    of = run.series.filter(
        (run.series["flow"] == flow) & (run.series["time_s"] >= begin) & (run.series["time_s"] <= end)
    )
    data = [value / 1e3 for value in of["delivered_bytes"].to_list()]
    # A part of a transfer counts from its own beginning: pauses of a fraction of a second show.
    start = data[0] if begin > 0.0 and data else 0.0
    return traced(of["time_s"].to_list(), [value - start for value in data])


def _buffers(figures: ExperimentData) -> PaperFigure:
    sizes = [(float(size.split()[0]), size) for size in BUFFERS]
    return PaperFigure(
        "Figure 3: downloads over the cable channel, by socket buffer",
        'The paper: SLIP and CSLIP "closely match" the calculated limits of 1.1 and 3.2 Mb/s; '
        "Ethernet falls beyond 16 KB. The limits assume an ACK for every two packets: ours exceed them where "
        "the telephone line's queue of 10 packets loses ACKs, so that each ACK that passes stands for more. "
        "With a queue of 100 packets, which loses none, 64 KiB gives 1.10 and 3.13 Mb/s.",
        "receiver's socket buffer (KiB)",
        "throughput (Mb/s)",
        {
            name: _line(
                figures, [(x, point("figure3", "Reno", name, receive_buffer=size)) for x, size in sizes], total_mbps
            )
            for name in ("SLIP", "CSLIP", "Ethernet")
        },
        log_x=True,
        paper={"limit, SLIP": [(4.0, 1.1), (64.0, 1.1)], "limit, CSLIP": [(4.0, 3.2), (64.0, 3.2)]},
    )


def _reverse_first(figures: ExperimentData) -> list[PaperFigure]:
    run = figures.results(point("figure4"))[0]
    return [
        PaperFigure(
            "Figure 4: the reverse transfer over 9.6 kb/s, which begins first",
            "The paper: the reverse transfer loses packets, and the forward one advances at these times.",
            SECONDS,
            DATA,
            {"reverse": _progress(run, "reverse")},
            trace=True,
        ),
        PaperFigure(
            "Figure 5: the forward transfer beside it",
            "The paper: large idle times until about 160 s.",
            SECONDS,
            DATA,
            {"forward": _progress(run, "forward")},
            trace=True,
        ),
    ]


def _both_directions(figures: ExperimentData, title: str, scheme: str, statement: str) -> PaperFigure:
    run = figures.results(point("table3", scheme, "paper"))[0]
    return PaperFigure(
        title, f"The paper: {statement}.", SECONDS, DATA, {"forward": _progress(run, "forward")}, trace=True
    )


def _pauses(figures: ExperimentData) -> PaperFigure:
    run = figures.results(point("figure7", "ACC + acks-first", "paper, finely sampled"))[0]
    return PaperFigure(
        "Figure 7: both directions with ACC and acks-first, two seconds",
        "The paper: the forward flow pauses for about 280 ms while a reverse packet is on the line.",
        SECONDS,
        "acknowledged since 30 s (kB)",
        {"forward": _progress(run, "forward", 30.0, 32.0)},
        trace=True,
    )


def _transfer(figures: ExperimentData) -> PaperFigure:
    run = figures.results(point("figure9", "radio Reno", "1 hop"))[0]
    return PaperFigure(
        "Figure 9: 200 KB over one wired and one wireless hop",
        "The paper's one trace: three timeouts, six fast retransmissions, idle for 35 % of the time.",
        SECONDS,
        DATA,
        {"Reno": _progress(run, "download")},
        trace=True,
    )


def _hops(figures: ExperimentData) -> PaperFigure:
    hops = [(1.0, "1 hop"), (2.0, "2 hops"), (3.0, "3 hops")]
    return PaperFigure(
        "Figure 10: one transfer over packet radios",
        "The paper: AF above ACC above Reno; 19 to 24 kb/s over two hops, 12.1 to 17.0 over three.",
        "wireless hops",
        "throughput (kb/s)",
        {
            name: _line(figures, [(x, point("figure10", scheme, network)) for x, network in hops], total_kbps)
            for name, scheme in RADIO.items()
        },
        paper={"Reno": [(2.0, 19.0), (3.0, 12.1)], "AF": [(2.0, 24.0), (3.0, 17.0)]},
    )


def _rtts(figures: ExperimentData) -> PaperFigure:
    def quantiles(scheme: str) -> list[Point]:
        results = figures.results(point("figure10", scheme, "2 hops"))
        return [
            (sum(known(flow_of(run)["rtt_ms"][key]) for run in results) / len(results) / 1e3, interval([share]))
            for key, share in SHARES
        ]

    return PaperFigure(
        "Figure 11: RTTs over two wireless hops, by share",
        "The paper: mean and standard deviation of 2.67 and 1 s with Reno, 1.85 and 0.6 s with AF. "
        "Ours: minimum, median, 95th percentile and maximum.",
        "RTT (s)",
        "share of samples",
        {name: quantiles(RADIO[name]) for name in ("Reno", "AF")},
        paper={"Reno, mean": [(2.67, 0.5)], "AF, mean": [(1.85, 0.5)]},
    )


def _by_count(
    figures: ExperimentData, measure: Callable[[RunResult], float], counts: Sequence[int]
) -> dict[str, list[Point]]:
    return {
        name: _line(figures, [(float(n), point("table5", RADIO[name], "1 hop", count=n)) for n in counts], measure)
        for name in ("Reno", "AF")
    }


def _fairness(figures: ExperimentData) -> PaperFigure:
    return PaperFigure(
        "Figure 12: fairness over one wireless hop",
        "The paper: Reno between 0.85 (two connections) and 0.49 (twelve); AF well above.",
        "connections",
        "Jain's index",
        _by_count(figures, fairness_index, COUNTS[1:]),
        paper={"Reno": [(2.0, 0.85), (12.0, 0.49)]},
    )


def _table5(figures: ExperimentData) -> list[PaperFigure]:
    counts = [float(n) for n in COUNTS]
    return [
        PaperFigure(
            "Table 5: throughput of all connections",
            "The paper: AF above Reno in every row.",
            "connections",
            "throughput (kb/s)",
            _by_count(figures, total_kbps, COUNTS),
            paper={name: list(zip(counts, values, strict=True)) for name, values in TABLE5.items()},
        ),
        PaperFigure(
            "Table 5: the column of standard deviations",
            "The paper gives no unit, and none fits all rows (our reading); its order, "
            "Reno above AF, is judged. Ours: of the connections' throughputs.",
            "connections",
            "standard deviation (ours: kb/s)",
            _by_count(figures, lambda run: spread_bps(run) / 1e3, COUNTS[1:]),
            paper={name: list(zip(counts[1:], values, strict=True)) for name, values in SPREAD5.items()},
        ),
    ]


def _cable_and_radio(figures: ExperimentData) -> PaperFigure:
    sizes = [(float(size.split()[0]), size) for size in BUFFERS[1:]]

    def range_of(size: str) -> Interval:
        return interval(
            [
                throughput_bps(run) / 1e6
                for run in figures.results(point("figure13", "Reno", "cable and radio", receive_buffer=size))
            ]
        )

    return PaperFigure(
        "Figure 13: 1 MB over cable, acknowledged over packet radio",
        "The paper: large standard deviations over 20 runs without cross traffic.",
        "receiver's socket buffer (KiB)",
        "throughput (Mb/s)",
        {"Reno": [(x, range_of(size)) for x, size in sizes]},
        log_x=True,
    )


def _web(figures: ExperimentData) -> PaperFigure:
    names = {"Reno": "web Reno", "ACC": "web ACC", "AF": "web AF", "AF, sender adaptation": "web AF + adaptation"}
    return PaperFigure(
        "Figure 14: Web pages, mean completion time",
        "The paper: AF best, ACC less useful, and sender adaptation of little effect.",
        "hosts",
        "completion time (s)",
        {
            name: _line(
                figures,
                [(float(n), point("figure14", scheme, "cable and radio", count=n)) for n in HOSTS],
                lambda run: known(run.summary["jobs"]["mean_s"]),
            )
            for name, scheme in names.items()
        },
    )


LOSSES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)


def _loss(figures: ExperimentData) -> PaperFigure:
    def line(experiment: str) -> list[Point]:
        return _line(figures, [(100.0 * lost, point(experiment, "Reno", loss=lost)) for lost in LOSSES], total_mbps)

    return PaperFigure(
        "Loss asymmetry: the same share lost of the data, or of the ACKs",
        "The paper names loss asymmetry and does not study it (section 7); this figure is ours. An ACK "
        "that is lost is replaced by the next one. The return path of 28.8 kb/s, CSLIP.",
        "packets lost (%)",
        "throughput (Mb/s)",
        {"ACKs lost": line("acks-lost"), "data lost": line("data-lost")},
    )
