"""Section 5: downloads between two hosts with Windows XP, by socket buffer (Figures 4 and 5)."""

from __future__ import annotations

from itertools import pairwise

from ackclock import closed_forms
from ackclock.papers.evaluators import (
    ExperimentData,
    flow_of,
    format_values,
    goodput_mbps,
    measured_number,
    point,
    statement,
)
from ackclock.papers.evidence import Evaluate
from ackclock.papers.experiments import known
from ackclock.papers.wibro.datagrams import rate_mbps
from ackclock.simulation.runner import RunResult
from ackclock.statistics import Interval, interval
from ackclock.statistics.summary_stats import StatName

BUFFERS = ("17 KB", "32 KB", "64 KB", "128 KB", "256 KB", "512 KB", "1024 KB")
FULL = 0.95


def rtt(which: StatName, result: RunResult) -> float:
    """A statistic of the download's RTT, in ms."""
    return known(flow_of(result)["rtt_ms"][which])


def evaluators(figures: ExperimentData) -> dict[str, Evaluate]:
    """Claim id to evaluator."""

    def goodput(scheme: str, why: str = "") -> Evaluate:
        return measured_number(lambda: figures.mean(point("tcp", scheme), goodput_mbps), why)

    return {
        "P4-028": goodput("17 KB", _ROUND),
        "P4-029": goodput("XP as installed", _SEVENTEEN),
        "P4-030": goodput("64 KB"),
        "P4-031": goodput("128 KB"),
        "P4-032": statement(lambda: _too_large(figures)),
        "P4-033": statement(lambda: _rises(figures)),
        "P4-034": statement(lambda: _rtts(figures)),
        "P4-035": statement(lambda: _window_stops(figures)),
        "P4-036": statement(lambda: _either(figures)),
        "P4-037": statement(lambda: _enough(figures)),
        "P4-038": statement(lambda: _tenth(figures)),
    }


_ROUND = (
    "a window of 17 KiB per RTT of 110 ms: the uplink delay of an ACK is 25 to 115 ms, by its "
    "grant and back-off. The paper's 1.5 Mb/s mean an RTT of 93 ms, which agrees with the paper's "
    "delays only if ACKs seldom request grants of their own; section 5 of the paper has about 1 "
    "Mb/s for the same 17 KB"
)
_SEVENTEEN = (
    "send buffer 17 KiB, receive buffer 64. The paper has 1.5 Mb/s for 17 KB in its introduction "
    "and 1 in section 5; a delayed ACK for the odd segment of a window explains the difference"
)


def _goodputs(figures: ExperimentData) -> dict[str, float]:
    return {scheme: figures.mean(point("tcp", scheme), goodput_mbps).mean for scheme in BUFFERS}


def _too_large(figures: ExperimentData) -> tuple[bool, str]:
    found = _goodputs(figures)
    flow = flow_of(figures.results(point("tcp", "1024 KB"))[0])
    best = max(found[scheme] for scheme in ("128 KB", "256 KB", "512 KB"))
    why = (
        f"{format_values(found, 'Mb/s')}; {flow['retransmitted_segments']} segments retransmitted "
        f"with 1024 KB, {flow['timeouts']} timeouts. A window of 1 MiB is 1.08 MB with headers, of "
        "which 0.1 MB are on the path: the calibrated buffer of 1.1 MB just holds the rest. With "
        "900 or 600 kB, 485 and 714 segments are retransmitted after one timeout in slow start, "
        'which costs 1 % of five minutes (9.54 and 9.52 Mb/s); the paper has "timeouts"'
    )
    return found["1024 KB"] < 0.98 * best, why


def _rises(figures: ExperimentData) -> tuple[bool, str]:
    found = _goodputs(figures)
    rising = ["17 KB", "32 KB", "64 KB", "128 KB"]
    up = all(found[later] >= 0.98 * found[earlier] for earlier, later in pairwise(rising))
    flat = [found[scheme] for scheme in ("128 KB", "256 KB", "512 KB")]
    return up and max(flat) <= 1.05 * min(flat), format_values(found, "Mb/s")


def _rtts(figures: ExperimentData) -> tuple[bool, str]:
    median = {scheme: figures.mean(point("tcp", scheme), lambda r: rtt("p50", r)).mean for scheme in BUFFERS}
    spread = {scheme: figures.mean(point("tcp", scheme), lambda r: rtt("sd", r)).mean for scheme in BUFFERS}
    values = list(median.values())
    grows = all(later >= 0.98 * earlier for earlier, later in pairwise(values))
    text = f"median {format_values(median)}; sd {format_values(spread, 'ms')}"
    return grows and spread["1024 KB"] == max(spread.values()), text


def _window_stops(figures: ExperimentData) -> tuple[bool, str]:
    def flight(scheme: str, after: float, before: float) -> float:
        series = figures.results(point("tcp", scheme))[0].series
        times, flights = series["time_s"].to_list(), series["flight_bytes"].to_list()
        return (
            max((sent for time, sent in zip(times, flights, strict=True) if after <= time < before), default=0.0)
            / 1024.0
        )

    small, early, late = flight("17 KB", 0.0, 300.0), flight("256 KB", 0.0, 1.0), flight("256 KB", 1.0, 10.0)
    text = (
        f"maximum in flight: {small:.1f} KiB with 17 KB; with 256 KB {early:.0f} KiB in the first "
        f"second, {late:.0f} in the next nine"
    )
    return small <= 17.0 and late > 1.5 * early, text


def _either(figures: ExperimentData) -> tuple[bool, str]:
    schemes = ("17 KB", "small send buffer", "small receive buffer", "256 KB")
    found = {scheme: figures.mean(point("tcp", scheme), goodput_mbps).mean for scheme in schemes}
    capped = [found[scheme] for scheme in schemes[:3]]
    return max(capped) <= 1.3 * min(capped) and found["256 KB"] > 3.0 * max(capped), format_values(found, "Mb/s")


def _enough(figures: ExperimentData) -> tuple[bool, str]:
    found, udp = _goodputs(figures), figures.mean(point("udp", "down full"), rate_mbps).mean
    share = {scheme: found[scheme] / udp for scheme in ("64 KB", "128 KB")}
    return share["64 KB"] < FULL <= share[
        "128 KB"
    ] * 1460.0 / 1400.0, "share of the rate of the datagrams: " + format_values(share)


def _tenth(figures: ExperimentData) -> tuple[bool, str, Interval]:
    tcp, udp = (
        figures.mean(point("tcp", "XP as installed"), goodput_mbps).mean,
        figures.mean(point("udp", "down full"), rate_mbps).mean,
    )
    ours = tcp / udp
    text = (
        f"{tcp:.2f} of {udp:.2f} Mb/s; {closed_forms.window_limited_throughput(17408.0, 0.1) / 1e6:.2f} Mb/s "
        "would be 17 KiB every 100 ms"
    )
    return abs(ours - 0.1) <= 0.02, text, interval([ours])
