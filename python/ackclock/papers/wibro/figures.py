"""Figures 2 to 5 of ``wibro``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path

from ackclock.papers.evaluators import ExperimentData, ExperimentPoint, flow_of, goodput_mbps, point
from ackclock.papers.experiments import Measure, known
from ackclock.papers.figure_data import SHARES, PaperFigure, Point, level, traced
from ackclock.papers.wibro.datagrams import min_rtts
from ackclock.papers.wibro.downloads import BUFFERS
from ackclock.simulation.runner import RunResult
from ackclock.statistics import interval

PACKET = 1410
OFFERED_MBPS = {"down": 12.0, "up": 5.0}
BUFFERS_KB = {"down": 1100.0, "up": 110.0}
RATES_MBPS = {"down": 10.0, "up": 2.5}
FIRST_S = 3.0
APART_KB = (17, 64, 256, 1024)


def drawings(figures: ExperimentData) -> list[PaperFigure]:
    """The figures in the paper's order."""
    return [_hops(figures), *_saturated(figures), *_sequences(figures), *_buffers(figures)]


def _hops(figures: ExperimentData) -> PaperFigure:
    minimum = min_rtts(figures)
    lines = {
        direction: [(float(place), interval([minimum[name]])) for place, name in enumerate(names, 1)]
        for direction, names in (("down", ("down, wired part", "down, all")), ("up", ("up, air", "up, all")))
    }
    return PaperFigure(
        "Figure 2: minimum RTT of 15 probes, by hop",
        "The paper: the wired part is below 7 ms; the air has nearly all of the RTT and all of its variation.",
        "hop of the link, from the prober",
        "RTT (ms)",
        lines,
        paper={"wired part, at most": [(1.0, 7.0)]},
    )


def _saturated(figures: ExperimentData) -> list[PaperFigure]:
    rates, waits, shares = {}, {}, {}
    for direction in RATES_MBPS:
        result = figures.results(point("udp", f"{direction} full"))[0]
        times, delivered = _arrivals(result, direction)
        steps = list(zip(times[9::10], delivered[9::10], strict=True))
        rates[direction] = [
            (later, interval([(b - a) * 8e-6 / (later - sooner)])) for (sooner, a), (later, b) in pairwise(steps)
        ]
        waits[direction] = _filling(times, delivered, direction)
        delay = flow_of(result)["one_way_delay_ms"]
        shares[direction] = [(known(delay[key]), interval([share])) for key, share in SHARES]
    return [
        PaperFigure(
            "Figure 3a: throughput of datagrams that fill the link",
            "The paper: downlink 10 Mb/s, uplink 2.5 Mb/s.",
            "time (s)",
            "throughput (Mb/s)",
            rates,
            paper={direction: level(rate, 0.0, 300.0) for direction, rate in RATES_MBPS.items()},
            trace=True,
        ),
        PaperFigure(
            "Figure 3b: one-way delay in the first three seconds",
            "The paper: the delay grows while the queue fills. Dashed: the full queue by the "
            "paper's method, 1,100 and 110 kB.",
            "time (s)",
            "one-way delay (ms)",
            waits,
            paper={
                direction: level(BUFFERS_KB[direction] * 8.0 / rate, 0.0, FIRST_S)
                for direction, rate in RATES_MBPS.items()
            },
            trace=True,
        ),
        PaperFigure(
            "Figure 3c: one-way delays, by share",
            "Ours: minimum, median, 95th percentile and maximum, with a full queue. The paper: "
            "half of the packets of the downlink are delayed by more than 1 s (P4-017).",
            "one-way delay (ms)",
            "share of packets",
            shares,
            paper={"down": [(1000.0, 0.5)]},
        ),
    ]


def _arrivals(result: RunResult, direction: str) -> tuple[list[float], list[float]]:
    """Times, and bytes delivered up to then by the last hop of a direction."""
    last = "air" if direction == "down" else "wired"
    hop = result.hops.filter((result.hops["hop"] == last) & (result.hops["direction"] == direction))
    return hop["time_s"].to_list(), [float(value) for value in hop["delivered_bytes"].to_list()]


def _filling(times: list[float], delivered: list[float], direction: str) -> list[Point]:
    """No packet is dropped while the queue fills, so the n-th received packet is the n-th sent one;
    a full queue delays all packets equally.
    """
    gap = PACKET * 8e-6 / OFFERED_MBPS[direction]
    room = BUFFERS_KB[direction] * 8e-3
    full = room / (OFFERED_MBPS[direction] - RATES_MBPS[direction])
    found = [
        (time, 1e3 * (time - count / PACKET * gap))
        for time, count in zip(times, delivered, strict=True)
        if count and time <= FIRST_S
    ]
    held = [delay for time, delay in found if time <= full + room / RATES_MBPS[direction]]
    return [(time, interval([min(delay, max(held))])) for time, delay in found]


def _sequences(figures: ExperimentData) -> list[PaperFigure]:
    statements: Mapping[str, str] = {
        "XP as installed": (
            "The paper: after a few RTTs of slow start the data per RTT stays at the send buffer's 17 KB."
        ),
        "256 KB": "The paper: the data per RTT grows beyond the first second.",
    }
    names = {
        "XP as installed": "Figure 4a: a download with a send buffer of 17 KB",
        "256 KB": "Figure 4b: a download with 256 KB",
    }
    return [
        PaperFigure(names[scheme], why, "time (s)", "sequence number (kB)", _sequence(figures, scheme), trace=True)
        for scheme, why in statements.items()
    ]


def _sequence(figures: ExperimentData, scheme: str) -> dict[str, list[Point]]:
    """The first three seconds in the sender's capture: the end of each segment, and the
    acknowledged bytes.
    """
    from ackclock.analysis import analyze

    result = figures.results(point("traced", scheme))[0]
    series = analyze(
        Path(result.folder or ".") / "captures" / "download.server.pcap", until=FIRST_S, series=True
    ).series
    if series is None:
        return {}
    data, acks = (
        series.filter((series["way"] == "b2a") & (series["payload_bytes"] > 0)),
        series.filter(series["way"] == "a2b"),
    )
    first = min(data["seq"].to_list())
    acks = acks.filter(acks["ack"] >= first)
    sent = [
        (seq + size - first) / 1e3
        for seq, size in zip(data["seq"].to_list(), data["payload_bytes"].to_list(), strict=True)
    ]
    back = [(seq - first) / 1e3 for seq in acks["ack"].to_list()]
    return {
        "sent": traced(data["time_s"].to_list(), sent, 1500),
        "acknowledged": traced(acks["time_s"].to_list(), back, 1500),
    }


def _apart(send: int, receive: int) -> ExperimentPoint:
    return point("matrix", send_buffer=f"{send} KiB", receive_buffer=f"{receive} KiB")


def _rtt_quantile(share: float, result: RunResult) -> float:
    """A quantile of the samples of the smoothed RTT, in ms."""
    found = result.series["srtt_ms"].drop_nulls().quantile(share, "nearest")
    return float("nan") if found is None else float(found)


def _buffers(figures: ExperimentData) -> list[PaperFigure]:
    sizes = [float(scheme.split()[0]) for scheme in BUFFERS]
    spots = [point("tcp", scheme) for scheme in BUFFERS]

    def line(measure: Measure) -> list[Point]:
        return [(size, figures.mean(spot, measure)) for size, spot in zip(sizes, spots, strict=True)]

    axis = "socket buffers (KB)"
    quartiles = {"first quartile": 0.25, "median": 0.5, "third quartile": 0.75}
    rtts = {name: line(partial(_rtt_quantile, share)) for name, share in quartiles.items()}
    matrix = {
        f"receive buffer of {receive} KB": [
            (float(send), figures.mean(_apart(send, receive), goodput_mbps)) for send in APART_KB
        ]
        for receive in APART_KB
    }
    return [
        PaperFigure(
            "Figure 5a: one download, by socket buffer",
            "The paper: 1.5 Mb/s at 17 KB, 5 at 64, 10 from 128 on, and less above 512.",
            axis,
            "goodput (Mb/s)",
            {"ours": line(goodput_mbps)},
            log_x=True,
            paper={"up to 512 KB": [(17.0, 1.5), (64.0, 5.0), (128.0, 10.0), (512.0, 10.0)]},
        ),
        PaperFigure(
            "Figure 5a, apart: one download, by send and receive buffer",
            "The paper: both buffers limit the throughput, not the receive buffer alone. A minute each.",
            "send buffer (KB)",
            "goodput (Mb/s)",
            matrix,
            log_x=True,
        ),
        PaperFigure(
            "Figure 5b: RTT of the download, median and quartiles",
            "The paper: the median grows with the buffer; at 1024 KB the RTT varies strongly. Ours: "
            "the quartiles of the smoothed RTT.",
            axis,
            "RTT (ms)",
            rtts,
            log_x=True,
        ),
    ]
