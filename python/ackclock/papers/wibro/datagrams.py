"""Section 4: RTT by hop, one-way delays, rates and buffers from datagrams (Figures 2 and 3)."""

from __future__ import annotations

from ackclock.papers.evaluators import (
    ExperimentData,
    computed_number,
    computed_statement,
    flow_of,
    format_values,
    measured_number,
    one_trace,
    point,
    statement,
)
from ackclock.papers.evidence import Evaluate
from ackclock.papers.experiments import known
from ackclock.simulation.runner import RunResult
from ackclock.statistics import Interval, interval

WIRED_MS = 3.5
"""The packaged link's one-way value, calibrated on the paper's bound (P4-022)."""


def rate_mbps(result: RunResult) -> float:
    """The received rate of a stream of datagrams, headers included, in Mb/s."""
    return known(flow_of(result)["throughput_bps"]) / 1e6


def _minimum(result: RunResult) -> float:
    return known(flow_of(result)["one_way_delay_ms"]["min"])


def _maximum(result: RunResult) -> float:
    return known(flow_of(result)["one_way_delay_ms"]["max"])


def buffer_kb(figures: ExperimentData, direction: str) -> Interval:
    """The paper's estimate: (minimum delay when full - minimum delay at a low rate) * throughput,
    in kB (section 4.3).
    """
    full, light = point("udp", f"{direction} full"), point("udp", f"{direction} light")
    rows = zip(figures.each(full, _minimum), figures.each(light, _minimum), figures.each(full, rate_mbps), strict=True)
    return interval([(when_full - when_light) * mbps / 8.0 for when_full, when_light, mbps in rows])


def _air(figures: ExperimentData, spot: str) -> Interval:
    return interval([delay - WIRED_MS for delay in figures.each(point("udp", spot), _minimum)])


def _datagrams(figures: ExperimentData) -> dict[str, Evaluate]:
    def minimum(spot: str, why: str = "") -> Evaluate:
        return measured_number(lambda: figures.mean(point("udp", spot), _minimum), why)

    return {
        "P4-001": measured_number(lambda: figures.mean(point("udp", "down full"), rate_mbps)),
        "P4-002": measured_number(lambda: figures.mean(point("udp", "up full"), rate_mbps)),
        "P4-003": minimum("down probes"),
        "P4-004": minimum(
            "up probes", "the minimum of packets every 40 ms: some use a grant that an earlier one requested"
        ),
        "P4-005": minimum("up alone"),
        "P4-006": statement(lambda: _range(figures)),
        "P4-007": measured_number(lambda: _air(figures, "up alone")),
        "P4-008": measured_number(lambda: _air(figures, "down probes")),
        "P4-009": measured_number(lambda: _air(figures, "up probes"), "less the wired part's 3.5 ms"),
        "P4-010": minimum("up light", _NO_ROOM),
        "P4-011": minimum("down light", "a packet of 1410 bytes fits into one frame, like a small packet"),
        "P4-012": measured_number(
            lambda: figures.mean(point("udp", "down probes"), _lost), "packets of five minutes, with HARQ"
        ),
        "P4-013": measured_number(lambda: buffer_kb(figures, "up")),
        "P4-014": measured_number(lambda: buffer_kb(figures, "down")),
        "P4-017": one_trace(lambda: figures.mean(point("udp", "down full"), _maximum), _ABOVE_A_SECOND),
        "P4-018": measured_number(lambda: _ratio(figures)),
        "P4-042": statement(lambda: _order(figures)),
    }


_ABOVE_A_SECOND = (
    'the maximum delay in ms, not judged: "About half the packets experience more than 1 s delay '
    "downlink\", and by the paper's own estimate the full queue, 1,100 kB, is 0.88 s at 10 Mb/s"
)
_FIVE_TIMES = (
    'not judged: "10 times larger queue than uplink, although the bandwidth is only 5 times '
    "larger\", while the paper's own rates are 10 and 2.5 Mb/s: 4, measured and computed"
)


def _lost(result: RunResult) -> float:
    return float(sum(hop["drops"] for hop in result.summary["hops"]))


def _range(figures: ExperimentData) -> tuple[bool, str, Interval]:
    low, high = (figures.mean(point("udp", "up probes"), measure) for measure in (_minimum, _maximum))
    holds = abs(low.mean - 25.0) <= 15.0 and abs(high.mean - 100.0) <= 15.0
    why = f"{low.mean:.0f} to {high.mean:.0f} ms: the maximum delay of a grant and of HARQ retransmissions"
    return holds, why, high


def _ratio(figures: ExperimentData) -> Interval:
    return interval([buffer_kb(figures, "down").mean / buffer_kb(figures, "up").mean])


def _order(figures: ExperimentData) -> tuple[bool, str]:
    found = {spot: figures.mean(point("udp", spot), _minimum).mean for spot in ("down probes", "up probes", "up alone")}
    return min(found["up probes"], found["up alone"]) > found["down probes"], "minimum one-way delay: " + format_values(
        found, "ms"
    )


def _derived() -> dict[str, Evaluate]:
    down, up = 1100e3 * 8.0 / 10e6, 110e3 * 8.0 / 2.5e6
    return {
        "P4-019": one_trace(lambda: interval([10.0 / 2.5]), _FIVE_TIMES),
        "P4-020": computed_statement(
            0.875 <= down <= 0.905 and 0.345 <= up <= 0.365, f"{down:.2f} s and {up:.2f} s: sizes over rates", down
        ),
        "P4-041": computed_number(20.0 + 8.0 + 20.0 + 14.0, "payload, UDP, IPv4 and Ethernet headers, in bytes"),
    }


def _method(figures: ExperimentData) -> tuple[bool, str]:
    found = {direction: buffer_kb(figures, direction).mean for direction in ("down", "up")}
    set_to = {"down": 1100.0, "up": 110.0}
    off = {direction: found[direction] / set_to[direction] - 1.0 for direction in found}
    text = f"{found['down']:.0f} kB of the 1100 set, {found['up']:.1f} of 110"
    return max(map(abs, off.values())) <= 0.05, text + _BIAS


_BIAS = (
    ". In the downlink the method is right. In the uplink the method counts the grant latency as "
    "buffer: under light load a packet may use part of an earlier packet's grant (41 ms, the "
    "minimum), and behind a full queue each packet waits for a grant of its own, 11 frames. The "
    "model limits the uplink's rate before packets request grants; at a base station that limits "
    "the rate by its grants, the grant latency would be part of the queueing delay"
)
_NO_ROOM = (
    "a packet of 1410 bytes: a grant of 1500 B, calibrated on small packets, has little room for a "
    "second large packet. With grants of 3000 B the delay is 36 ms, but the downloads' ACKs arrive "
    "in larger bursts, and 128 KB no longer fill the link (9.1 Mb/s)"
)


HOPS = ("down, wired part", "down, all", "up, air", "up, all")


def min_rtts(figures: ExperimentData) -> dict[str, float]:
    """The minimum RTT of 15 probes to each hop, in ms (Figure 2)."""
    results = figures.results(point("hops"))
    return {
        name: min(known(flow_of(result, name)["probes"][0]["rtt_ms"]["min"]) for result in results) for name in HOPS
    }


def _hops(figures: ExperimentData) -> tuple[bool, str, Interval]:
    minimum = min_rtts(figures)
    wired = minimum["down, wired part"]
    return (
        wired <= 7.0 + 0.1 and wired < 0.2 * minimum["down, all"],
        "minimum of 15 probes: " + format_values(minimum, "ms"),
        interval([wired]),
    )


def evaluators(figures: ExperimentData) -> dict[str, Evaluate]:
    """Claim id to evaluator."""
    return {
        **_datagrams(figures),
        **_derived(),
        "P4-021": statement(lambda: _method(figures)),
        "P4-022": statement(lambda: _hops(figures)),
    }
